// launch <<<4, 128>>> n=250
// out np.array([float(32 * (k % 64 // 32) + 32 - k % 32) for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[128];
  int t = threadIdx.x, group = t / 64;
  s[t] = in[t % 64];
  if (group == 0) asm volatile("bar.sync 1, 64;" ::: "memory");
  else asm volatile("bar.sync 2, 64;" ::: "memory");
  float x = s[group * 64 + (t % 64 ^ 31)];
  int i = blockIdx.x * 64 + t;
  if (t < 64 && i < n) out[i] = x;
}
