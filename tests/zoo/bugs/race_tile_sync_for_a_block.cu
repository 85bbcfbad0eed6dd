#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = in[t];  // OTHER
  warp.sync();
  float x = s[63 - t];  // BUG race
  if (i < n) out[i] = x;
}
