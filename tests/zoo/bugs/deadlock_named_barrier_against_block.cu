extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t < 32) asm volatile("bar.sync 1, 64;" ::: "memory");  // BUG deadlock
  __syncthreads();  // OTHER
  if (i < n) out[i] = in[i];
}
