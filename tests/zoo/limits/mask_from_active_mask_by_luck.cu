extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float x = in[t];
  if (t % 2) x = 2.f * x;
  x += __shfl_xor_sync(__activemask(), x, 1);  // BUG divergent_barrier
  if (i < n) out[i] = x;
}
