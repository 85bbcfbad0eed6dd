// out np.where(i % 3 == 0, 100.0, 1.0)
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float x = 1.f;
  if (i % 3 == 0) {
    cg::coalesced_group active = cg::coalesced_threads();
    int first = active.shfl(i, 0);
    active.sync();
    x = first % 3 == 0 ? 100.f : 0.f;
  }
  if (i < n) out[i] = x;
}
