// launch <<<4, 64>>> n=256
// out np.array([64.0 * (k // 64) + 64 - k % 4 for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float key[64];
  __shared__ int who[64];
  __shared__ float best[4];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float mine = in[i];
  for (int k = 0; k < 4; ++k) {
    key[t] = mine;
    who[t] = t;
    __syncthreads();
    for (int d = 32; d > 0; d /= 2) {
      if (t < d && key[t + d] > key[t]) { key[t] = key[t + d]; who[t] = who[t + d]; }
      __syncthreads();
    }
    if (t == 0) best[k] = key[0];
    if (who[0] == t) mine = -1.f;
    __syncthreads();
  }
  out[i] = best[t % 4];
}
