extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float x;
  if (threadIdx.x % 32 < 30) x = in[0];
  float y = __shfl_down_sync(0xffffffffu, x, 1);  // BUG uninitialized
  if (i < n) out[i] = y;
}
