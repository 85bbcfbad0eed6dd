extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ __align__(16) float s[68];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = in[t];
  if (t < 4) s[64 + t] = 0.f;
  __syncthreads();
  float2 x = *(float2*)(s + t);  // BUG misaligned
  if (i < n) out[i] = x.x + x.y;
}
