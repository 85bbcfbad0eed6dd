// out np.where(i % 2 == 0, 1.0, 0.0)
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float x;
  bool has = i % 2 == 0;
  if (has) x = in[1];
  if (i < n) out[i] = has && x > 1.f ? 1.f : 0.f;
}
