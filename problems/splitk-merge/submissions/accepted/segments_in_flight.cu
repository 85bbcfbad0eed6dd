// problem: splitk-merge
// A few lanes a row, four dimensions each, and the loads of 8 segments on their way before the first is used.
//
// Added over warp_per_head.cu:
// - D / 4 lanes have a row and load 16 bytes each: at D = 64 a warp merges two rows, and no lane idles.
// - m and l are asked for together, once where S is at most the lanes of a row.
// - 8 weights are handed round, then the loads of 8 segments leave; an empty segment is never loaded.
// Predicted: 32 warps an SM with up to 4 KB each on the way; two round trips a row (m and l, then O) hide behind
// other warps: 85 to 90% of the roof.
// Measured: H200, 256 x 64 x 32: 50.3 us, 4035 GB/s, 88.5% of the roof; 4096 x 32 x 8: 58.5 us, 4101 GB/s, 89.7%.
// @launch merge_rows<D><<<cdiv(num_seqs * num_heads, kThreads * 4 / D), kThreads>>>(o_part, m_part, l_part, out, num_seqs * num_heads, S)
#include "common.cuh"

constexpr int kThreads = 128;
constexpr int kCtasPerSm = 8;
constexpr int kDeep = 8;  // segments on their way
constexpr unsigned kAll = 0xffffffffu;

template <int D>
__global__ void __launch_bounds__(kThreads, kCtasPerSm)
merge_rows(const float* __restrict__ o_part, const float* __restrict__ m_part, const float* __restrict__ l_part,
           float* __restrict__ out, int rows, int S) {
  constexpr int kLanes = D / 4;  // lanes a row
  constexpr int kAtOnce = kDeep < kLanes ? kDeep : kLanes;
  const int x = threadIdx.x % kLanes;
  const int asked = (blockIdx.x * kThreads + threadIdx.x) / kLanes;
  const size_t row = min(asked, rows - 1);  // a row past the end is merged for the shuffles' sake, not stored
  const float* o = o_part + row * S * D + 4 * x;
  const float* m = m_part + row * S;
  const float* l = l_part + row * S;

  float mine_m = x < S ? m[x] : -INFINITY, mine_l = x < S ? l[x] : 0.f;
  float top = mine_m;
  for (int s = x + kLanes; s < S; s += kLanes) top = fmaxf(top, m[s]);
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) top = fmaxf(top, __shfl_xor_sync(kAll, top, step));

  float4 sum = make_float4(0.f, 0.f, 0.f, 0.f);
  float total = 0.f;
  for (int first = 0; first < S; first += kLanes) {
    if (first > 0) {
      mine_m = first + x < S ? m[first + x] : -INFINITY;
      mine_l = first + x < S ? l[first + x] : 0.f;
    }
    const float mine = mine_l > 0.f ? __expf(mine_m - top) * mine_l : 0.f;
    const int count = min(kLanes, S - first);
    for (int j = 0; j < count; j += kAtOnce) {
      float weight[kAtOnce];
      float4 value[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        weight[i] = __shfl_sync(kAll, mine, j + i, kLanes);
        if (weight[i] > 0.f) {
          value[i] = __ldcs(reinterpret_cast<const float4*>(o + static_cast<size_t>(first + j + i) * D));
        }
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (weight[i] > 0.f) {
          total += weight[i];
          sum.x = fmaf(weight[i], value[i].x, sum.x);
          sum.y = fmaf(weight[i], value[i].y, sum.y);
          sum.z = fmaf(weight[i], value[i].z, sum.z);
          sum.w = fmaf(weight[i], value[i].w, sum.w);
        }
      }
    }
  }
  if (asked >= rows) return;
  const float inverse = total > 0.f ? 1.f / total : 0.f;
  *reinterpret_cast<float4*>(out + row * D + 4 * x) =
      make_float4(sum.x * inverse, sum.y * inverse, sum.z * inverse, sum.w * inverse);
}
