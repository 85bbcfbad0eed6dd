extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = in[t];
  __syncthreads();
  float x = s[t - 1];  // BUG out_of_bounds
  if (i < n) out[i] = x;
}
