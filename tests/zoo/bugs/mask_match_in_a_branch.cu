extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  unsigned int same = 0;
  if (t % 2) same = __match_any_sync(0xffffffffu, t / 8);  // BUG divergent_barrier
  if (i < n) out[i] = same;
}
