extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  unsigned int sum = 0;
  if (t % 32 < 20)
    sum = __reduce_add_sync(0xffffffffu, t);  // BUG divergent_barrier
  if (i < n) out[i] = sum;
}
