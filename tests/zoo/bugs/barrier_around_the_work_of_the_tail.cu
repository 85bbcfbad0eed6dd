extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (i < n) {
    s[t] = in[i];
    __syncthreads();  // BUG divergent_barrier?
    out[i] = s[t];
  }
}
