#include <cuda_fp16.h>
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ __half s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = __float2half(in[t]);  // OTHER
  float x = __half2float(s[t ^ 32]);  // BUG race
  if (i < n) out[i] = x;
}
