extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[32];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t / 2] = in[t];  // BUG race
  __syncthreads();
  if (i < n) out[i] = s[t / 2];
}
