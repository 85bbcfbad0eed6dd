extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ int bins[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  bins[t] = 0;  // OTHER
  if (i < n) atomicAdd(&bins[63 - t], 1);  // BUG race
  __syncthreads();
  if (i < n) out[i] = bins[t];
}
