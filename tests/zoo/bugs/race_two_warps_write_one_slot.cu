extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float best;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t % 32 == 0) best = in[t];  // BUG race
  __syncthreads();
  if (i < n) out[i] = best;
}
