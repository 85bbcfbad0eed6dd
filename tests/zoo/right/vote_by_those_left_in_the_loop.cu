// out np.array([float(k % 64 % 4) for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t, steps = 0;
  unsigned int left = __ballot_sync(0xffffffffu, t % 4 > 0);
  while (t % 4 > steps) {
    unsigned int next = __ballot_sync(left, t % 4 > steps + 1);
    ++steps;
    left = next;
  }
  if (i < n) out[i] = steps;
}
