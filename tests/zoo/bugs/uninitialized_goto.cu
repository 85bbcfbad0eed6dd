extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float x;
  if (i % 5 == 4) goto store;
  x = in[0];
store:
  if (i < n) out[i] = x + 1.f;  // BUG uninitialized
}
