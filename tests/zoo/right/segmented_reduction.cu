// out np.array([x[[j for j in range(64 * (k // 64), min(64 * (k // 64) + 64, n)) if (j % 64) // 10 == (k % 64) // 10]].sum() for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float sums[7];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t < 7) sums[t] = 0.f;
  __syncthreads();
  if (i < n) atomicAdd(&sums[t / 10], in[i]);
  __syncthreads();
  if (i < n) out[i] = sums[t / 10];
}
