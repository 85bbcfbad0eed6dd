extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  alignas(16) char bytes[32];
  int i = blockIdx.x * 64 + threadIdx.x;
  for (int k = 0; k < 32; ++k) bytes[k] = k;
  short x = *(short*)(bytes + 2 * (threadIdx.x % 4) + 1);  // BUG misaligned
  if (i < n) out[i] = x;
}
