__device__ float warp_sum(float x) {
  for (int d = 16; d; d /= 2) x += __shfl_xor_sync(0xffffffffu, x, d);  // BUG divergent_barrier
  return x;
}
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float x = in[t];
  if (x < 50.f) x = warp_sum(x);
  if (i < n) out[i] = x;
}
