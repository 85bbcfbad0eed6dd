extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  const float* p = in + 240;
  float sum = 0.f;
  for (int k = 0; k < 16; ++k) sum += *p++;  // BUG out_of_bounds
  if (i < n) out[i] = sum;
}
