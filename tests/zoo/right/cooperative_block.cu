// out np.array([(64 * (k // 64) + 63 - k % 64 + 1 if 64 * (k // 64) + 63 - k % 64 < n else 0) for k in i])
#include <cooperative_groups.h>
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  auto block = cooperative_groups::this_thread_block();
  __shared__ float s[64];
  int t = block.thread_rank(), i = blockIdx.x * 64 + t;
  s[t] = i < n ? in[i] : 0.f;
  block.sync();
  if (i < n) out[i] = s[63 - t];
}
