// 8-bit floats: conversion from and to float and half.
#include <cuda_fp8.h>

extern "C" __global__ void fp8(const float* in, unsigned char* e4m3, unsigned char* e5m2, float* back) {
  int t = threadIdx.x;
  __nv_fp8_e4m3 a(in[t]);
  __nv_fp8_e5m2 b(in[t]);
  e4m3[t] = a.__x;
  e5m2[t] = b.__x;
  back[2 * t] = float(a);
  back[2 * t + 1] = float(b);
}

extern "C" __global__ void fp8_packed(const float2* in, __nv_fp8x2_e4m3* out, float2* back) {
  int t = threadIdx.x;
  out[t] = __nv_fp8x2_e4m3(in[t]);
  back[t] = float2(out[t]);
}
