// problem: splitk-merge
// One block a (sequence, head), one thread a dimension; every thread computes the weights. The default launch. No
// thread waits for another: it shows the formula alone.
// Measured: H200, 256x64x32: 98.1 us, 2069 GB/s, 45.6% of the roof; 4096x32x8: 120.3 us, 1994 GB/s, 43.7%.
#include "common.cuh"

template <int D>
__global__ void splitk_merge(const float* o_part, const float* m_part, const float* l_part, float* out, int num_heads,
                             int S) {
  const size_t row = static_cast<size_t>(blockIdx.y) * num_heads + blockIdx.x;
  const int d = threadIdx.x;
  const float* o = o_part + row * S * D;
  const float* m = m_part + row * S;
  const float* l = l_part + row * S;

  float top = -INFINITY;
  for (int s = 0; s < S; ++s) top = fmaxf(top, m[s]);
  float sum = 0.f, total = 0.f;
  for (int s = 0; s < S; ++s) {
    if (l[s] == 0.f) continue;  // no key: its output may be NaN
    const float w = expf(m[s] - top) * l[s];
    sum += w * o[s * D + d];
    total += w;
  }
  out[row * D + d] = total > 0.f ? sum / total : 0.f;
}
