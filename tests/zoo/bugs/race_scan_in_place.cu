extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = in[t];
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    if (t >= d) s[t] += s[t - d];  // BUG race
    __syncthreads();
  }
  if (i < n) out[i] = s[t];
}
