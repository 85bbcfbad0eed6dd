extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) ws[i] = in[i];  // OTHER
  if (i < n) out[i] = ws[(i + 64) % n];  // BUG race
}
