extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float x = in[t];
  if (t % 32 < 16)
    x = __shfl_sync(0x0000ffffu, x, 20);  // BUG divergent_barrier
  if (i < n) out[i] = x;
}
