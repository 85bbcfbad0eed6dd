extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  float acc[4];
  int i = blockIdx.x * 64 + threadIdx.x;
  for (int k = 0; k < 3; ++k) acc[k] = in[k];
  if (i < n) out[i] = acc[i % 4];  // BUG uninitialized
}
