extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  for (int k = 0; k < 4; ++k) {
    if (in[t] > 40.f + k) break;
    __syncthreads();  // BUG divergent_barrier
  }
  __syncthreads();  // OTHER
  if (i < n) out[i] = in[i];
}
