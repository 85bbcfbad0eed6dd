// out np.where(i % 2 == 0, 2.0, 0.0)
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float x;
  bool has = false;
  if (i % 2 == 0) { x = in[1]; has = true; }
  float y = 0.f;
  if (has) y = x;
  if (i < n) out[i] = y;
}
