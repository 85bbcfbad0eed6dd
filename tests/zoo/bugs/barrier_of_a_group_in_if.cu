#include <cooperative_groups.h>
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  auto block = cooperative_groups::this_thread_block();
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t < 40) block.sync();  // BUG divergent_barrier
  block.sync();  // OTHER
  if (i < n) out[i] = in[i];
}
