// problem: paged-decode
// Every slot of the last page is read, and a guard stores 0 where their NaN went into the sum.
// expect-case: page-edges
// expect-mutant: tail_counted
#include "common.cuh"

constexpr int kPage = 16;
constexpr int kWarps = 4;

__device__ float warp_sum(float x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

// Warp w takes the tokens w, w + 4, ... and keeps m, l and o of its own; the warps merge at the end. No score is
// ever stored, so that the context may have any length. A lane owns the dimensions lane, lane + 32, ...
template <int D>
__global__ void __launch_bounds__(32 * kWarps)
paged_decode_attention(const float* __restrict__ q, const float* __restrict__ k_cache,
                       const float* __restrict__ v_cache, const int* __restrict__ block_table,
                       const int* __restrict__ context_lens, float* __restrict__ out, int num_heads, int num_kv_heads,
                       int max_blocks_per_seq, float scale) {
  constexpr int kPerLane = D / 32;
  __shared__ float all_m[kWarps], all_l[kWarps], all_o[kWarps][D];
  const int head = blockIdx.x, seq = blockIdx.y;
  const int kv_head = head / (num_heads / num_kv_heads);
  const int context = (context_lens[seq] + kPage - 1) / kPage * kPage;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int* table = block_table + static_cast<size_t>(seq) * max_blocks_per_seq;
  const size_t query = (static_cast<size_t>(seq) * num_heads + head) * D;

  float mine[kPerLane], o[kPerLane];
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    mine[i] = q[query + lane + 32 * i] * scale;
    o[i] = 0.f;
  }
  float m = -INFINITY, l = 0.f;
  for (int t = warp; t < context; t += kWarps) {
    const size_t slot = static_cast<size_t>(table[t / kPage]) * kPage + t % kPage;
    const size_t row = (slot * num_kv_heads + kv_head) * D;
    float dot = 0.f;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) dot += mine[i] * k_cache[row + lane + 32 * i];
    const float s = warp_sum(dot);
    const float m_new = fmaxf(m, s);
    const float correction = __expf(m - m_new);
    const float w = __expf(s - m_new);
    l = l * correction + w;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) o[i] = o[i] * correction + w * v_cache[row + lane + 32 * i];
    m = m_new;
  }

  if (lane == 0) {
    all_m[warp] = m;
    all_l[warp] = l;
  }
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) all_o[warp][lane + 32 * i] = o[i];
  __syncthreads();

  float top = -INFINITY, total = 0.f;
  for (int w = 0; w < kWarps; ++w) top = fmaxf(top, all_m[w]);
  for (int w = 0; w < kWarps; ++w) total += __expf(all_m[w] - top) * all_l[w];  // a warp without tokens adds 0
  for (int d = threadIdx.x; d < D; d += 32 * kWarps) {
    float sum = 0.f;
    for (int w = 0; w < kWarps; ++w) sum += __expf(all_m[w] - top) * all_o[w][d];
    out[query + d] = total > 0.f ? sum / total : 0.f;
  }
}
