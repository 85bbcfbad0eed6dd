extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float m = -3.0e38f, l;
  for (int k = 0; k < 4; ++k) {
    float higher = fmaxf(m, in[k]);
    l = l * expf(m - higher) + expf(in[k] - higher);  // BUG uninitialized
    m = higher;
  }
  if (i < n) out[i] = l;
}
