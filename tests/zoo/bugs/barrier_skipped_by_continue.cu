extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float sum = 0.f;
  for (int k = 0; k < 2; ++k) {
    if (t + k > 62) continue;
    __syncthreads();  // BUG divergent_barrier
    sum += in[t];
  }
  __syncthreads();  // OTHER
  if (i < n) out[i] = sum;
}
