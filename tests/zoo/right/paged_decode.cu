// launch <<<2, 64>>> n=128
// out np.array([np.mean([x[p * 16 + s] for p, c in ((3, 16), (1, 5)) for s in range(c)]) for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  const int table[4] = {3, 1, -1, -1};
  const int context = 21;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float sum = 0.f;
  for (int k = t; k < context; k += 64) sum += in[table[k / 16] * 16 + k % 16];
  s[t] = sum;
  __syncthreads();
  for (int d = 32; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  out[i] = s[0] / context;
}
