extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  const char* bytes = (const char*)in;
  int x = *(const int*)(bytes + threadIdx.x);  // BUG misaligned
  if (i < n) out[i] = x;
}
