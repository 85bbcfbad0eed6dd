// Packed __half2: axpy, a dot product with shuffles, packing and unpacking.
#include <cuda_fp16.h>

extern "C" __global__ void half2_axpy(const __half2* x, __half2* y, float alpha, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __hfma2(__float2half2_rn(alpha), x[i], y[i]);
}

extern "C" __global__ void half2_dot(const __half2* a, const __half2* b, float* out, int n) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += 32) {
    float2 p = __half22float2(__hmul2(a[i], b[i]));
    sum += p.x + p.y;
  }
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x == 0) *out = sum;
}

extern "C" __global__ void half2_parts(const __half2* in, __half2* out) {
  int t = threadIdx.x;
  __half2 v = in[t];
  out[4 * t] = __halves2half2(__high2half(v), __low2half(v));
  out[4 * t + 1] = __lows2half2(v, in[t + 1]);
  out[4 * t + 2] = __hmax2(v, __float2half2_rn(0.0f));
  out[4 * t + 3] = __shfl_xor_sync(~0u, v, 1);
}
