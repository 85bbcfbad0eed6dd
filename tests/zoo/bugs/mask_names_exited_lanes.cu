// launch <<<4, 64>>> n=250
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x >= 20 && threadIdx.x < 32) return;
  float x = i < n ? in[i] : 0.f;
  for (int d = 16; d; d /= 2) x += __shfl_xor_sync(0xffffffffu, x, d);  // BUG divergent_barrier
  if (i < n) out[i] = x;
}
