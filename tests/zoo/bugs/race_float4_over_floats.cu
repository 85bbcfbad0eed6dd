extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float4 s[16];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t < 16) s[t] = ((const float4*)in)[t];  // OTHER
  float x = ((float*)s)[t];  // BUG race
  if (i < n) out[i] = x;
}
