// problem: paged-decode-bf16
// D / 8 lanes hold a row of K, 16 bytes each, so that one load of a warp brings several tokens; loads run ahead.
// @launch wide_rows<D><<<dim3(num_kv_heads, num_seqs), 32 * kWarps>>>(q, k_cache, v_cache, block_table, context_lens, out, num_heads / num_kv_heads, max_blocks_per_seq, scale)
#include <cuda_bf16.h>
#include "common.cuh"

constexpr int kPage = 16;
constexpr int kWarps = 4;
constexpr int kMaxGroup = 8;  // query heads a KV head may serve
constexpr int kVector = 8;    // bfloat16 values in 16 bytes

// A bfloat16 is the upper half of a float. The even element of a word is its lower half, the odd one its upper.
__device__ __forceinline__ void widen(uint4 packed, float (&to)[kVector]) {
  const unsigned words[4] = {packed.x, packed.y, packed.z, packed.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    to[2 * i] = __uint_as_float(words[i] << 16);
    to[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
  }
}

// D / 8 lanes share a token, and each such team runs its own online softmax over the tokens it meets, for all query
// heads of the group. Shared memory is used only to merge the teams.
template <int D>
__global__ void __launch_bounds__(32 * kWarps)
wide_rows(const float* __restrict__ q, const __nv_bfloat16* __restrict__ k_cache,
          const __nv_bfloat16* __restrict__ v_cache, const int* __restrict__ block_table,
          const int* __restrict__ context_lens, float* __restrict__ out, int group, int max_blocks_per_seq,
          float scale) {
  constexpr int kLanes = D / kVector;
  constexpr int kTeams = kWarps * 32 / kLanes;  // and tokens a step
  __shared__ float all_m[kTeams][kMaxGroup], all_l[kTeams][kMaxGroup], all_o[kTeams][kMaxGroup][D];
  const int kv_head = blockIdx.x, num_kv_heads = gridDim.x, seq = blockIdx.y;
  const int context = context_lens[seq];
  const int team = threadIdx.x / kLanes, dim = threadIdx.x % kLanes * kVector;
  const int* table = block_table + static_cast<size_t>(seq) * max_blocks_per_seq;
  const size_t rows = (static_cast<size_t>(seq) * num_kv_heads + kv_head) * group * D;

  float query[kMaxGroup][kVector], o[kMaxGroup][kVector], m[kMaxGroup], l[kMaxGroup];
#pragma unroll
  for (int g = 0; g < kMaxGroup; ++g) {
    m[g] = -INFINITY;
    l[g] = 0.f;
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      query[g][i] = g < group ? q[rows + g * D + dim + i] * scale : 0.f;
      o[g][i] = 0.f;
    }
  }

  uint4 next_key = make_uint4(0, 0, 0, 0), next_value = next_key;
  auto load = [&](int token) {
    if (token >= context) return;
    const size_t slot = static_cast<size_t>(table[token / kPage]) * kPage + token % kPage;
    const size_t at = (slot * num_kv_heads + kv_head) * D + dim;
    next_key = *reinterpret_cast<const uint4*>(k_cache + at);
    next_value = *reinterpret_cast<const uint4*>(v_cache + at);
  };
  load(team);
  for (int first = 0; first < context; first += kTeams) {
    const bool inside = first + team < context;
    float key[kVector], value[kVector];
    widen(next_key, key);
    widen(next_value, value);
    load(first + team + kTeams);
#pragma unroll
    for (int g = 0; g < kMaxGroup; ++g) {
      if (g >= group) break;
      float dot = 0.f;
#pragma unroll
      for (int i = 0; i < kVector; ++i) dot = fmaf(query[g][i], key[i], dot);
#pragma unroll
      for (int step = kLanes / 2; step > 0; step /= 2) dot += __shfl_xor_sync(0xffffffffu, dot, step);
      if (inside) {
        const float m_new = fmaxf(m[g], dot);
        const float correction = __expf(m[g] - m_new), w = __expf(dot - m_new);
        l[g] = l[g] * correction + w;
#pragma unroll
        for (int i = 0; i < kVector; ++i) o[g][i] = o[g][i] * correction + w * value[i];
        m[g] = m_new;
      }
    }
  }

#pragma unroll
  for (int g = 0; g < kMaxGroup; ++g) {
    if (g >= group) break;
    if (dim == 0) {
      all_m[team][g] = m[g];
      all_l[team][g] = l[g];
    }
#pragma unroll
    for (int i = 0; i < kVector; ++i) all_o[team][g][dim + i] = o[g][i];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < group * D; i += 32 * kWarps) {
    const int g = i / D, d = i % D;
    float top = -INFINITY, total = 0.f, sum = 0.f;
    for (int one = 0; one < kTeams; ++one) top = fmaxf(top, all_m[one][g]);
    for (int one = 0; one < kTeams; ++one) {
      const float factor = __expf(all_m[one][g] - top);  // 0 for a team without tokens
      total += factor * all_l[one][g];
      sum += factor * all_o[one][g][d];
    }
    out[rows + i] = sum / total;
  }
}
