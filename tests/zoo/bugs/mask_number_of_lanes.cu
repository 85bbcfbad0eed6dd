extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float x = in[t];
  x += __shfl_down_sync(32, x, 1);  // BUG divergent_barrier
  if (i < n) out[i] = x;
}
