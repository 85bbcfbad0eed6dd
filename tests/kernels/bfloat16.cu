// __nv_bfloat16: conversion, arithmetic, a matrix-vector product, atomics.
#include <cuda_bf16.h>

extern "C" __global__ void bfloat16_math(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* out) {
  int t = threadIdx.x;
  __nv_bfloat16 x = a[t], y = b[t];
  __nv_bfloat16* row = out + t * 6;
  row[0] = x + y;
  row[1] = __hmul(x, y);
  row[2] = __hfma(x, y, x);
  row[3] = __float2bfloat16(__bfloat162float(x) / 3.0f);
  row[4] = __hmax(x, y);
  row[5] = __hneg(x);
}

extern "C" __global__ void bfloat16_gemv(const __nv_bfloat162* matrix, const __nv_bfloat162* vector, float* out, int columns) {
  float sum = 0.0f;
  for (int c = threadIdx.x; c < columns / 2; c += 32) {
    float2 m = __bfloat1622float2(matrix[blockIdx.x * (columns / 2) + c]), v = __bfloat1622float2(vector[c]);
    sum += m.x * v.x + m.y * v.y;
  }
  for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
