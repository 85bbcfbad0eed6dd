// out np.array([x[4*(k//4):4*(k//4)+4].sum() for k in i])
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  auto tile = cg::tiled_partition<4>(cg::this_thread_block());
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = i < n ? in[i] : 0.f;
  tile.sync();
  float sum = 0.f;
  for (int k = 0; k < 4; ++k) sum += s[t / 4 * 4 + k];
  if (i < n) out[i] = sum;
}
