// out np.array([x[8 * (k // 8):8 * (k // 8) + 8].sum() for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float x = i < n ? in[i] : 0.f;
  for (int d = 4; d; d /= 2) x += __shfl_xor_sync(0xffffffffu, x, d, 8);
  if (i < n) out[i] = x;
}
