extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int d = 16; d; d /= 2) x += __shfl_down_sync(0xffffffffu, x, d);  // BUG divergent_barrier
  out[i] = x;
}
