// Arithmetic, comparison and conversion of __half scalars.
#include <cuda_fp16.h>

extern "C" __global__ void half_scalar(const __half* a, const __half* b, __half* out, float* wide, int* flags) {
  int t = threadIdx.x;
  __half x = a[t], y = b[t];
  __half* row = out + t * 10;
  row[0] = __hadd(x, y);
  row[1] = x - y;
  row[2] = x * y;
  row[3] = x / y;
  row[4] = __hfma(x, y, __float2half(1.0f));
  row[5] = __hneg(x);
  row[6] = __habs(x);
  row[7] = __hmax(x, y);
  row[8] = __hmin(x, y);
  row[9] = hsqrt(__habs(x));
  wide[t] = __half2float(x) * 2.0f;
  flags[t] = __hlt(x, y) + __heq(x, y) * 2 + (x >= y) * 4 + __hisnan(x) * 8 + __half2int_rn(y) * 16;
}

__device__ __noinline__ __half mean(__half a, __half b) { return __hmul(__hadd(a, b), __float2half(0.5f)); }
extern "C" __global__ void half_mean(const __half* a, __half* out) { out[threadIdx.x] = mean(a[threadIdx.x], a[threadIdx.x + 1]); }
