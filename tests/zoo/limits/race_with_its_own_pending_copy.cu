// launch <<<1, 64>>> n=64
#include <cuda_pipeline.h>
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&s[t], &in[t], 4);  // OTHER
  s[t] = 5;  // BUG race
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[t] = s[t];
}
