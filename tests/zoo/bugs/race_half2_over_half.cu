#include <cuda_fp16.h>
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ __half2 s[32];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  __half* single = (__half*)s;
  single[t] = __float2half(in[t]);  // OTHER
  __half2 pair = s[t / 2];  // BUG race
  if (i < n) out[i] = __low2float(pair) + __high2float(pair);
}
