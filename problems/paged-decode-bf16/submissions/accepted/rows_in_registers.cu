// problem: paged-decode-bf16
// D / 8 lanes hold a row of K, 16 bytes each, so that one load of a warp brings several tokens; loads run ahead.
// Measured: H200, 64x4096: 501.5 us, 47.3% of the roof.
// @launch wide_rows<D><<<dim3(num_kv_heads, num_seqs), 32 * kWarps>>>(q, k_cache, v_cache, block_table, context_lens, out, num_heads / num_kv_heads, max_blocks_per_seq, scale)
#include <cuda_bf16.h>
#include "common.cuh"

constexpr int kPage = 16;
constexpr int kWarps = 4;
constexpr int kMaxGroup = 8;  // query heads a KV head may serve
constexpr int kVector = 8;    // bfloat16 values in 16 bytes
constexpr int kAhead = 2;     // tokens of a team a step; their loads run while the step before is computed

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
// heads of the group. The queries lie in shared memory, in the order in which a team reads them 16 bytes a lane.
template <int D>
__global__ void __launch_bounds__(32 * kWarps)
wide_rows(const float* __restrict__ q, const __nv_bfloat16* __restrict__ k_cache,
          const __nv_bfloat16* __restrict__ v_cache, const int* __restrict__ block_table,
          const int* __restrict__ context_lens, float* __restrict__ out, int group, int max_blocks_per_seq,
          float scale) {
  constexpr int kLanes = D / kVector;
  constexpr int kTeams = kWarps * 32 / kLanes;
  __shared__ __align__(16) float queries[kMaxGroup][2][kLanes][4];
  __shared__ __align__(16) float all_o[kTeams][kMaxGroup][D];
  __shared__ float all_m[kTeams][kMaxGroup], all_l[kTeams][kMaxGroup];
  const int kv_head = blockIdx.x, num_kv_heads = gridDim.x, seq = blockIdx.y;
  const int context = context_lens[seq];
  const int team = threadIdx.x / kLanes, mine = threadIdx.x % kLanes;
  const int* table = block_table + static_cast<size_t>(seq) * max_blocks_per_seq;
  const size_t rows = (static_cast<size_t>(seq) * num_kv_heads + kv_head) * group * D;

  uint4 next_keys[kAhead], next_values[kAhead];
  auto load = [&](int first) {
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
      const int token = first + a * kTeams;
      next_keys[a] = next_values[a] = make_uint4(0, 0, 0, 0);
      if (token < context) {
        const size_t slot = static_cast<size_t>(table[token / kPage]) * kPage + token % kPage;
        const size_t at = (slot * num_kv_heads + kv_head) * D + mine * kVector;
        next_keys[a] = *reinterpret_cast<const uint4*>(k_cache + at);
        next_values[a] = *reinterpret_cast<const uint4*>(v_cache + at);
      }
    }
  };
  load(team);
  for (int i = threadIdx.x; i < group * D; i += 32 * kWarps) {
    const int d = i % D;
    queries[i / D][d % kVector / 4][d / kVector][d % 4] = q[rows + i] * scale;
  }
  float o[kMaxGroup][kVector], m[kMaxGroup], l[kMaxGroup];
#pragma unroll
  for (int g = 0; g < kMaxGroup; ++g) {
    m[g] = -INFINITY;
    l[g] = 0.f;
#pragma unroll
    for (int i = 0; i < kVector; ++i) o[g][i] = 0.f;
  }
  __syncthreads();

  for (int first = 0; first < context; first += kAhead * kTeams) {
    float keys[kAhead][kVector], values[kAhead][kVector];
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
      widen(next_keys[a], keys[a]);
      widen(next_values[a], values[a]);
    }
    load(first + kAhead * kTeams + team);
#pragma unroll
    for (int g = 0; g < kMaxGroup; ++g) {
      if (g >= group) break;
      float query[kVector], s[kAhead], top = m[g];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float4 four = *reinterpret_cast<const float4*>(queries[g][half][mine]);
        query[4 * half] = four.x;
        query[4 * half + 1] = four.y;
        query[4 * half + 2] = four.z;
        query[4 * half + 3] = four.w;
      }
#pragma unroll
      for (int a = 0; a < kAhead; ++a) {
        float dot = 0.f;
#pragma unroll
        for (int i = 0; i < kVector; ++i) dot = fmaf(query[i], keys[a][i], dot);
#pragma unroll
        for (int step = kLanes / 2; step > 0; step /= 2) dot += __shfl_xor_sync(0xffffffffu, dot, step);
        s[a] = first + a * kTeams + team < context ? dot : -INFINITY;
        top = fmaxf(top, s[a]);
      }
      const float base = top > -INFINITY ? top : 0.f;  // no token yet: every weight is exp(-inf) = 0
      const float correction = __expf(m[g] - base);
      m[g] = top;
      l[g] *= correction;
#pragma unroll
      for (int i = 0; i < kVector; ++i) o[g][i] *= correction;
#pragma unroll
      for (int a = 0; a < kAhead; ++a) {
        const float w = __expf(s[a] - base);
        l[g] += w;
#pragma unroll
        for (int i = 0; i < kVector; ++i) o[g][i] = fmaf(w, values[a][i], o[g][i]);
      }
    }
  }

#pragma unroll
  for (int g = 0; g < kMaxGroup; ++g) {
    if (g >= group) break;
    if (mine == 0) {
      all_m[team][g] = m[g];
      all_l[team][g] = l[g];
    }
    float4* to = reinterpret_cast<float4*>(&all_o[team][g][mine * kVector]);
    to[0] = make_float4(o[g][0], o[g][1], o[g][2], o[g][3]);
    to[1] = make_float4(o[g][4], o[g][5], o[g][6], o[g][7]);
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
