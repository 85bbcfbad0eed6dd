// out x
#include <cuda_pipeline.h>
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ __align__(16) float s[256];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  __pipeline_memcpy_async(&s[t], &in[i < n ? i : 0], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  if (i < n) out[i] = s[t];
}
