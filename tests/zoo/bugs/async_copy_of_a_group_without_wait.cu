#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ __align__(16) float s[64];
  auto block = cg::this_thread_block();
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  int left = min(64, n - (int)blockIdx.x * 64);
  cg::memcpy_async(block, s, in + blockIdx.x * 64, sizeof(float) * left);
  __syncthreads();
  if (i < n) out[i] = s[t];  // BUG uninitialized
}
