extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = in[t];
  __syncthreads();
  s[t] = 0.5f * (s[t] + s[(t + 1) % 64]);  // BUG race
  __syncthreads();
  if (i < n) out[i] = s[t];
}
