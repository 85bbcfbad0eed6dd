#include <cuda_fp16.h>
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __half acc[2];
  int i = blockIdx.x * 64 + threadIdx.x;
  acc[0] = __float2half(in[0]);
  float x = __half2float(acc[threadIdx.x % 4 / 2]);  // BUG uninitialized
  if (i < n) out[i] = x;
}
