extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ volatile float slot;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t % 32 == 0) slot = in[t];  // BUG race
  __syncthreads();
  if (i < n) out[i] = slot;
}
