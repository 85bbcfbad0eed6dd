// out np.where(i % 3 == 0, 7.0, np.where(i % 3 == 1, 6.0, 4.0))
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float a, b, c;
  switch (i % 3) {
    case 0: a = 1.f; b = 2.f; c = 4.f; break;
    case 1: a = 0.f; b = 2.f; c = 4.f; break;
    default: a = 0.f; b = 0.f; c = 4.f;
  }
  if (i < n) out[i] = a + b + c;
}
