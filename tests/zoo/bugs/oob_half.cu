// says element 250
#include <cuda_fp16.h>
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  __half x = ((const __half*)in)[2 * i];  // BUG out_of_bounds
  if (i < n) out[i] = __half2float(x);
}
