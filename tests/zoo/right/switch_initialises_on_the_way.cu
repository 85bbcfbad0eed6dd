// out np.where(i % 3 == 2, 4.0, 5.0)
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float x, y = 4.f;
  switch (i % 3) {
    case 0:
      x = 1.f;
    case 1:
      if (i % 3 == 1) x = 1.f;
      y += x;
    default:
      break;
  }
  if (i < n) out[i] = y;
}
