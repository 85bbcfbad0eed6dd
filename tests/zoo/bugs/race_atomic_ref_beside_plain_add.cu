#include <cuda/atomic>
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ int count;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) count = 0;
  __syncthreads();
  cuda::atomic_ref<int, cuda::thread_scope_block> ref(count);
  if (t < 32) ref.fetch_add(1, cuda::memory_order_relaxed);  // OTHER
  if (t == 40) count += 1;  // BUG race
  __syncthreads();
  if (i < n) out[i] = count;
}
