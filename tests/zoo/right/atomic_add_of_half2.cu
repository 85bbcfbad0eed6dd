// out 96.0
#include <cuda_fp16.h>
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ __half2 sum;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) sum = __floats2half2_rn(0.f, 0.f);
  __syncthreads();
  atomicAdd(&sum, __floats2half2_rn(1.f, 0.5f));
  __syncthreads();
  if (i < n) out[i] = __low2float(sum) + __high2float(sum);
}
