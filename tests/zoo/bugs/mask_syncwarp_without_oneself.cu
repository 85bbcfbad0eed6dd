extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  __syncwarp(0x0000ffffu);  // BUG divergent_barrier
  if (i < n) out[i] = in[i];
}
