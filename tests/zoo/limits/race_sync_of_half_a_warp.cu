// launch <<<4, 32>>> n=128
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[32];
  int t = threadIdx.x, i = blockIdx.x * 32 + t;
  auto half = cg::tiled_partition<16>(cg::this_thread_block());
  s[t] = in[i];  // OTHER
  half.sync();
  out[i] = s[t ^ 16];  // BUG race
}
