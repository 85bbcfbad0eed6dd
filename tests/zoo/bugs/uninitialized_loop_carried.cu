extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float before, sum = 0.f;
  for (int k = 0; k < 8; ++k) {
    float x = in[k];
    sum += x - before;  // BUG uninitialized
    before = x;
  }
  if (i < n) out[i] = sum;
}
