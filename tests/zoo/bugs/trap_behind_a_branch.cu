extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  asm volatile("{ .reg .pred p; setp.gt.s32 p, %0, 200; @p bra STOP; bra GO; STOP: trap; GO: }" ::"r"(i));  // BUG trap
  out[i] = in[i];
}
