// launch <<<4, 64>>> n=250 shared=512
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  extern __shared__ float pool[];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  pool[t] = in[t];
  __syncthreads();
  float x = pool[64 + t];  // BUG uninitialized
  if (i < n) out[i] = x;
}
