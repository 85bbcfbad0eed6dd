// problem: gqa-decode
// One block a KV head: every token goes through the registers of one warp once and serves the whole group.
// Measured: H200, 64x4096: 1068 us, 44.2% of the roof; mixed: 985.2 us, 12.4%.
// @launch gqa_warps<D><<<dim3(num_kv_heads, num_seqs), 32 * kWarps>>>(q, k_cache, v_cache, block_table, context_lens, out, num_heads / num_kv_heads, max_blocks_per_seq, scale)
#include "common.cuh"

constexpr int kPage = 16;
constexpr int kWarps = 4;
constexpr int kMaxGroup = 8;  // query heads a KV head may serve

__device__ float warp_sum(float x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

// Warp w takes the tokens w, w + 4, ... of one KV head: a row of K and a row of V go into registers once and serve
// every query head of the group. Each warp runs its own online softmax; shared memory is used only to merge.
template <int D>
__global__ void __launch_bounds__(32 * kWarps)
gqa_warps(const float* __restrict__ q, const float* __restrict__ k_cache, const float* __restrict__ v_cache,
          const int* __restrict__ block_table, const int* __restrict__ context_lens, float* __restrict__ out, int group,
          int max_blocks_per_seq, float scale) {
  constexpr int kPerLane = D / 32;
  __shared__ float all_m[kWarps][kMaxGroup], all_l[kWarps][kMaxGroup], all_o[kWarps][kMaxGroup][D];
  const int kv_head = blockIdx.x, num_kv_heads = gridDim.x, seq = blockIdx.y;
  const int context = context_lens[seq];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int* table = block_table + static_cast<size_t>(seq) * max_blocks_per_seq;
  const size_t rows = (static_cast<size_t>(seq) * num_kv_heads + kv_head) * group * D;

  float query[kMaxGroup][kPerLane], o[kMaxGroup][kPerLane], m[kMaxGroup], l[kMaxGroup];
#pragma unroll
  for (int g = 0; g < kMaxGroup; ++g) {
    m[g] = -INFINITY;
    l[g] = 0.f;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      query[g][i] = g < group ? q[rows + g * D + lane + 32 * i] * scale : 0.f;
      o[g][i] = 0.f;
    }
  }

  for (int t = warp; t < context; t += kWarps) {
    const size_t slot = static_cast<size_t>(table[t / kPage]) * kPage + t % kPage;
    const size_t row = (slot * num_kv_heads + kv_head) * D;
    float key[kPerLane], value[kPerLane];
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      key[i] = k_cache[row + lane + 32 * i];
      value[i] = v_cache[row + lane + 32 * i];
    }
#pragma unroll
    for (int g = 0; g < kMaxGroup; ++g) {
      if (g >= group) break;
      float dot = 0.f;
#pragma unroll
      for (int i = 0; i < kPerLane; ++i) dot += query[g][i] * key[i];
      const float s = warp_sum(dot);
      const float m_new = fmaxf(m[g], s);
      const float correction = __expf(m[g] - m_new), w = __expf(s - m_new);
      l[g] = l[g] * correction + w;
#pragma unroll
      for (int i = 0; i < kPerLane; ++i) o[g][i] = o[g][i] * correction + w * value[i];
      m[g] = m_new;
    }
  }

#pragma unroll
  for (int g = 0; g < kMaxGroup; ++g) {
    if (g >= group) break;
    if (lane == 0) {
      all_m[warp][g] = m[g];
      all_l[warp][g] = l[g];
    }
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) all_o[warp][g][lane + 32 * i] = o[g][i];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < group * D; i += 32 * kWarps) {
    const int g = i / D, d = i % D;
    float top = -INFINITY, total = 0.f, sum = 0.f;
    for (int w = 0; w < kWarps; ++w) top = fmaxf(top, all_m[w][g]);
    for (int w = 0; w < kWarps; ++w) {
      const float factor = __expf(all_m[w][g] - top);  // 0 for a warp without tokens
      total += factor * all_l[w][g];
      sum += factor * all_o[w][g][d];
    }
    out[rows + i] = sum / total;
  }
}
