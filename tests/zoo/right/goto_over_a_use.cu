// out np.where(i % 5 == 4, 0.0, 2.0)
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float x, y = 0.f;
  if (i % 5 == 4) goto store;
  x = in[0];
  y = x + 1.f;
store:
  if (i < n) out[i] = y;
}
