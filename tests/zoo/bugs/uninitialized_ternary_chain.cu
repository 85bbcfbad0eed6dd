extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float scale;
  if (threadIdx.x < 20) scale = 1.f;
  else if (threadIdx.x > 20) scale = 2.f;
  if (i < n) out[i] = scale * in[i];  // BUG uninitialized
}
