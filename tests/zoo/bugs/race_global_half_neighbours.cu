#include <cuda_fp16.h>
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  __half2* pairs = (__half2*)ws;
  if (i < n) pairs[i / 128] = __floats2half2_rn(in[i], in[i]);  // BUG race
  if (i < n) out[i] = 1.f;
}
