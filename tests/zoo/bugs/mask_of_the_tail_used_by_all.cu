extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  unsigned int mask = __ballot_sync(0xffffffffu, i < n);
  float x = i < n ? in[i] : 0.f;
  x += __shfl_xor_sync(mask, x, 1);  // BUG divergent_barrier
  if (i < n) out[i] = x;
}
