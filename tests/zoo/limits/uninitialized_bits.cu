extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ unsigned int flags[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  flags[t] &= 0xffffff00u;  // BUG uninitialized
  __syncthreads();
  if (i < n) out[i] = flags[t];
}
