extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = in[t];
  if (t < 32) {
    __syncthreads();  // BUG divergent_barrier
    if (i < n) out[i] = s[t];
  }
}
