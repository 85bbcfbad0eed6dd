// out 2.0
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float x;
  for (int k = 0; k < 3; ++k) {
    if (k > 0 && i < n) out[i] = x;
    x = in[k];
  }
}
