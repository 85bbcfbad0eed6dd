// launch <<<1, 1>>> n=8
// out 36.0
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  float sum = 0.f;
  for (const float* p = in; p != in + n; ++p) sum += *p;
  for (int k = 0; k < n; ++k) out[k] = sum;
}
