// out np.array([16.0 for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ int bins[2][4];
  int t = threadIdx.x, i = blockIdx.x * 64 + t, w = t / 32;
  if (t % 32 < 4) bins[w][t % 32] = 0;
  __syncwarp();
  atomicAdd(&bins[w][t % 4], 1);
  __syncthreads();
  if (i < n) out[i] = bins[0][t % 4] + bins[1][t % 4];
}
