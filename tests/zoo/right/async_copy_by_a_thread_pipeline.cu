// out x
#include <cuda/pipeline>
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ __align__(16) float s[2][64];
  auto pipe = cuda::make_pipeline();
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  pipe.producer_acquire();
  cuda::memcpy_async(&s[0][t], &in[i < n ? i : 0], sizeof(float), pipe);
  pipe.producer_commit();
  cuda::pipeline_consumer_wait_prior<0>(pipe);
  __syncthreads();
  if (i < n) out[i] = s[0][t];
  pipe.consumer_release();
}
