extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) asm volatile("trap;");  // BUG trap
  if (i < n) out[i] = in[i];
}
