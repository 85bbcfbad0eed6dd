#include <cuda_fp16.h>
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ __align__(4) __half s[128];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t < 32) s[t] = __float2half(in[t]);
  __syncthreads();
  float x = __half2float(s[t]);  // BUG uninitialized
  if (i < n) out[i] = x;
}
