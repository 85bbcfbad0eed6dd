extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ int bins[4];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t < 4) bins[t] = 0;
  __syncthreads();
  if (i < n) bins[(int)in[i] % 4]++;  // BUG race
  __syncthreads();
  if (i < n) out[i] = bins[t % 4];
}
