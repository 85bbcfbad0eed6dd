extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  extern __shared__ float s[];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = in[t];  // BUG out_of_bounds
  __syncthreads();
  if (i < n) out[i] = in[i];
}
