extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n && i % 2 == 0) ws[i] = in[i];
  if (i < n) out[i] = ws[i];  // BUG uninitialized
}
