// launch <<<2, 64>>> n=128
// out 1 + 0 * x
#include <cuda/atomic>
__device__ int flag;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  cuda::atomic_ref<int, cuda::thread_scope_device> raised(flag);
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    out[t] = 1;
    __threadfence();
    __syncthreads();
    if (t == 0) raised.store(1, cuda::memory_order_relaxed);
  } else {
    if (t == 0)
      while (raised.load(cuda::memory_order_relaxed) == 0) {
      }
    __syncthreads();
    __threadfence();
    out[64 + t] = out[t];
  }
}
