extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t, count = 0;
  if (i < n - 10) count = __syncthreads_count(1);  // BUG divergent_barrier
  __syncthreads();  // OTHER
  if (i < n) out[i] = count;
}
