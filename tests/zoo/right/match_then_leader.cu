// out np.array([8 * (k // 8) + 0.0 for k in i % 64])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  unsigned int same = __match_any_sync(0xffffffffu, t / 8);
  int leader = __ffs(same) - 1;
  int first = __shfl_sync(same, t, leader);
  if (i < n) out[i] = first;
}
