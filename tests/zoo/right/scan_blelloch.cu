// launch <<<4, 32>>> n=256
// out np.array([x[64 * (k // 64):k].sum() for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, base = blockIdx.x * 64;
  s[2 * t] = in[base + 2 * t];
  s[2 * t + 1] = in[base + 2 * t + 1];
  int step = 1;
  for (int d = 32; d > 0; d /= 2) {
    __syncthreads();
    if (t < d) s[step * (2 * t + 2) - 1] += s[step * (2 * t + 1) - 1];
    step *= 2;
  }
  if (t == 0) s[63] = 0.f;
  for (int d = 1; d < 64; d *= 2) {
    step /= 2;
    __syncthreads();
    if (t < d) {
      int a = step * (2 * t + 1) - 1, b = step * (2 * t + 2) - 1;
      float x = s[a];
      s[a] = s[b];
      s[b] += x;
    }
  }
  __syncthreads();
  out[base + 2 * t] = s[2 * t];
  out[base + 2 * t + 1] = s[2 * t + 1];
}
