extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  asm volatile("bar.sync 1, 96;" ::: "memory");  // BUG deadlock
  if (i < n) out[i] = in[i];
}
