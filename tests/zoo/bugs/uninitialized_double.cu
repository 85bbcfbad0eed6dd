extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  double sum;
  for (int k = 0; k < 4; ++k) sum = sum + in[k];  // BUG uninitialized
  if (i < n) out[i] = sum;
}
