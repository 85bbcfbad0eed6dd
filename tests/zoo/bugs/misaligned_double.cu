extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  double x = *(const double*)(in + 1 + 2 * (threadIdx.x % 4));  // BUG misaligned
  if (i < n) out[i] = x;
}
