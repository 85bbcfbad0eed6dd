// out 64.0
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ int bins[130];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  for (int k = t; k < 130; k += blockDim.x) bins[k] = 0;
  __syncthreads();
  atomicAdd(&bins[129], 1);
  __syncthreads();
  if (i < n) out[i] = bins[129] + bins[5];
}
