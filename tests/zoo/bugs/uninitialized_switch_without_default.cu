extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float x;
  switch (i % 3) {
    case 0: x = 1.f; break;
    case 1: x = 2.f; break;
  }
  if (i < n) out[i] = x * in[i];  // BUG uninitialized
}
