extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  float window[8];
  int i = blockIdx.x * 64 + threadIdx.x;
  for (int k = 0; k < 6; ++k) window[k] = in[k];
  float sum = 0.f;
  for (int k = 0; k < 8; ++k) sum += window[k];  // BUG uninitialized
  if (i < n) out[i] = sum;
}
