// out np.array([(k % 64 ^ 1) + 0.0 for k in i])
#include <cuda_fp16.h>
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ __half s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = __int2half_rn(t);
  __syncthreads();
  if (i < n) out[i] = __half2float(s[t ^ 1]);
}
