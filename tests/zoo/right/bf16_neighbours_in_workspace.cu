// out np.array([(k % 64) + 0.0 for k in i])
#include <cuda_bf16.h>
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __nv_bfloat16* halves = (__nv_bfloat16*)ws;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (i < n) halves[i] = __float2bfloat16(t);
  if (i < n) out[i] = __bfloat162float(halves[i]);
}
