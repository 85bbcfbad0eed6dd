#include <cuda/barrier>
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) init(&bar, 64);
  __syncthreads();
  (void)bar.arrive();
  s[t] = i < n ? in[i] : 0.f;  // OTHER
  float x = s[63 - t];  // BUG race
  if (i < n) out[i] = x;
}
