// Eight and four bit arithmetic: quantise, multiply, scale back.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

// A row's largest magnitude becomes 127.
extern "C" __global__ void quantize_rows(const float* x, signed char* out, float* scales, int columns) {
  __shared__ float warps[8];
  float best = 0.0f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) best = fmaxf(best, fabsf(x[blockIdx.x * columns + c]));
  for (int d = 16; d > 0; d /= 2) best = fmaxf(best, __shfl_xor_sync(~0u, best, d));
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = best;
  __syncthreads();
  best = warps[0];
  for (int w = 1; w < blockDim.x / 32; ++w) best = fmaxf(best, warps[w]);
  float scale = best / 127.0f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x)
    out[blockIdx.x * columns + c] = (signed char)max(-127, min(127, __float2int_rn(x[blockIdx.x * columns + c] / scale)));
  if (threadIdx.x == 0) scales[blockIdx.x] = scale;
}

extern "C" __global__ void dequantize_rows(const char4* x, const float* scales, float4* out, int quads) {
  int r = blockIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= quads) return;
  char4 v = x[r * quads + c];
  float s = scales[r];
  out[r * quads + c] = make_float4(v.x * s, v.y * s, v.z * s, v.w * s);
}

extern "C" __global__ void gemm_dp4a(const int* a, const int* b, const float* sa, const float* sb, float* c, int m, int n, int words) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n) return;
  int sum = 0;
  for (int i = 0; i < words; ++i) sum = __dp4a(a[row * words + i], b[column * words + i], sum);
  c[row * n + column] = sum * sa[row] * sb[column];
}

extern "C" __global__ void dot_products(const char4* a, const char4* b, const uchar4* u, const short2* s, int4* out) {
  int t = threadIdx.x;
  out[t] = make_int4(__dp4a(a[t], b[t], 5), (int)__dp4a(u[t], u[t], 7u), __dp2a_lo(s[t], b[t], 1), __dp2a_hi(s[t], b[t], -1));
}

extern "C" __global__ void fp8_round_trip(const float4* x, unsigned* packed, float4* back, float scale) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 v = x[i];
  __nv_fp8x4_e4m3 q(make_float4(v.x * scale, v.y * scale, v.z * scale, v.w * scale));
  packed[i] = q.__x;
  float4 w = float4(q);
  back[i] = make_float4(w.x / scale, w.y / scale, w.z / scale, w.w / scale);
}

extern "C" __global__ void fp8_dot(const __nv_fp8_e5m2* a, const __nv_fp8_e4m3* b, float* out, int columns) {
  float sum = 0.0f;
  for (int c = threadIdx.x; c < columns; c += 32) sum += float(a[blockIdx.x * columns + c]) * float(b[c]);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// Weights of four bits, eight to a word, a scale and a zero point a group of 32.
extern "C" __global__ void gemv_int4(const unsigned* w, const __half* scales, const unsigned char* zeros, const __half* x, float* y, int columns) {
  int row = blockIdx.x, lane = threadIdx.x;
  float sum = 0.0f;
  for (int g = lane; g < columns / 8; g += 32) {
    unsigned word = w[row * (columns / 8) + g];
    int group = row * (columns / 32) + g / 4;
    float scale = __half2float(scales[group]);
    for (int j = 0; j < 8; ++j) {
      int q = (int)(word >> (4 * j) & 15) - zeros[group];
      sum += q * scale * __half2float(x[g * 8 + j]);
    }
  }
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (lane == 0) y[row] = sum;
}

extern "C" __global__ void bf16_cast(const float2* x, __nv_bfloat162* out, int pairs) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pairs; i += gridDim.x * blockDim.x)
    out[i] = __float22bfloat162_rn(x[i]);
}

extern "C" __global__ void half2_gelu(const __half2* x, __half2* out, int pairs) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pairs) return;
  float2 v = __half22float2(x[i]);
  v.x = 0.5f * v.x * (1.0f + erff(v.x * 0.70710678f));
  v.y = 0.5f * v.y * (1.0f + erff(v.y * 0.70710678f));
  out[i] = __hmul2(__float22half2_rn(v), __float2half2_rn(1.0f));
}
