// out 1 + 0 * x
#include <cuda/atomic>
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ int last;
  cuda::atomic_ref<int, cuda::thread_scope_block> seen(last);
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  seen.store(t, cuda::memory_order_relaxed);
  __syncthreads();
  if (i < n) out[i] = seen.load(cuda::memory_order_relaxed) >= 0 ? 1 : 0;
}
