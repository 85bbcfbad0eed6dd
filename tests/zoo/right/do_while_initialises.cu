// out 3.0
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x, k = 0;
  float x;
  do {
    x = in[k];
  } while (++k < 3);
  if (i < n) out[i] = x;
}
