// launch <<<2, 128>>> n=250
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 128 + t;
  s[t] = in[t];  // BUG out_of_bounds
  __syncthreads();
  if (i < n) out[i] = s[t % 64];
}
