extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[66];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t + 1] = in[t];
  __syncthreads();
  if (t == 0) { s[0] = in[0]; s[65] = in[63]; }  // OTHER
  float x = s[t] + s[t + 1] + s[t + 2];  // BUG race
  if (i < n) out[i] = x;
}
