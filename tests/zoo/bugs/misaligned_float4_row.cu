extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  const float* row = in + 63 * (threadIdx.x % 3);
  float4 x = ((const float4*)row)[threadIdx.x % 8];  // BUG misaligned
  if (i < n) out[i] = x.x + x.w;
}
