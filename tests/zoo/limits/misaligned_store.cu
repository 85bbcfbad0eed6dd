extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float2 pair = {1.f, 2.f};
  if (2 * i + 3 <= n) *(float2*)(out + 2 * i + 1) = pair;  // BUG misaligned
}
