// out np.array([x[32 * (k // 32):32 * (k // 32) + 32].sum() for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float x = i < n ? in[i] : 0.f;
  for (int d = 16; d; d /= 2) x += __shfl_xor_sync(0xffffffffu, x, d);
  if (i >= n) return;
  out[i] = x;
}
