extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ unsigned int s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  ((unsigned short*)s)[2 * t] = t;
  __syncthreads();
  unsigned int x = s[t];  // BUG uninitialized
  if (i < n) out[i] = x;
}
