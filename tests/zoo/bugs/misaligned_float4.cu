extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float4 x = {0.f, 0.f, 0.f, 0.f};
  if (i + 4 <= n) x = *(const float4*)(in + i);  // BUG misaligned
  if (i < n) out[i] = x.x;
}
