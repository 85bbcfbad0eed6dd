extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = in[t];
  __syncthreads();
  if (in[t] > 1000.f) s[63 - t] = 0.f;  // BUG race
  if (i < n) out[i] = s[t];
}
