extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t < 32) {
    s[t] = in[t];
    __syncthreads();  // BUG divergent_barrier
  }
  __syncthreads();  // OTHER
  if (i < n) out[i] = in[i];
}
