// problem: flash-decoding
// As many segments as the GPU needs, all of one length: a block reads each row of the cache once for its whole group.
// Measured: H200, 1x131072: 323.8 us, 72.9% of the roof; 4x16384: 167.0 us, 72.2%; mixed: 244.5 us, 35.3%.
// @workspace float o_part[num_seqs * num_heads * segments(num_seqs * num_kv_heads, max_blocks_per_seq) * D]
// @workspace float2 ml_part[num_seqs * num_heads * segments(num_seqs * num_kv_heads, max_blocks_per_seq)]
// @launch sum_segment<D><<<dim3(segments(num_seqs * num_kv_heads, max_blocks_per_seq), num_kv_heads, num_seqs), kThreads>>>(q, k_cache, v_cache, block_table, context_lens, o_part, ml_part, num_heads / num_kv_heads, max_blocks_per_seq, segment_pages(num_seqs * num_kv_heads, max_blocks_per_seq), scale)
// @launch merge<D><<<dim3(num_heads, num_seqs), D>>>(o_part, ml_part, context_lens, out, segments(num_seqs * num_kv_heads, max_blocks_per_seq), segment_pages(num_seqs * num_kv_heads, max_blocks_per_seq))
#include "common.cuh"

constexpr int kPage = 16;
constexpr int kThreads = 128;
constexpr int kMaxGroup = 8;       // query heads a KV head may serve
constexpr int kAtOnce = 4;         // tokens a team has in flight
constexpr int kBlocks = 8 * 132;   // enough for every SM to have several, and for a late one to cost little
constexpr int kLeastPages = 8;     // below this a block spends its time on starting

// One length for all sequences: a short sequence then has few segments, and blocks without tokens leave at once.
__device__ int segment_pages(int rows, int max_blocks_per_seq) {
  return max(kLeastPages, cdiv(rows * max_blocks_per_seq, kBlocks));
}

__device__ int segments(int rows, int max_blocks_per_seq) {
  return cdiv(max_blocks_per_seq, segment_pages(rows, max_blocks_per_seq));
}

__device__ float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

__device__ float4 scaled(float4 a, float f) { return make_float4(a.x * f, a.y * f, a.z * f, a.w * f); }

__device__ void add_scaled(float4& sum, float4 a, float f) {
  sum.x += a.x * f;
  sum.y += a.y * f;
  sum.z += a.z * f;
  sum.w += a.w * f;
}

// A team of D / 4 lanes reads a row of K and of V with one 16-byte load a lane and keeps an online softmax for each
// query head of the group. What a block stores is not divided by l: the merge divides once.
template <int D>
__global__ void __launch_bounds__(kThreads)
sum_segment(const float* __restrict__ q, const float* __restrict__ k_cache, const float* __restrict__ v_cache,
            const int* __restrict__ block_table, const int* __restrict__ context_lens, float* __restrict__ o_part,
            float2* __restrict__ ml_part, int group, int max_blocks_per_seq, int pages, float scale) {
  constexpr int kTeam = D / 4;
  constexpr int kTeams = kThreads / kTeam;
  __shared__ float2 all_ml[kTeams][kMaxGroup];
  __shared__ float4 all_o[kTeams][kMaxGroup][kTeam];
  const int segment = blockIdx.x, kv_head = blockIdx.y, seq = blockIdx.z;
  const int num_kv_heads = gridDim.y;
  const int begin = segment * pages * kPage;
  const int end = min(context_lens[seq], begin + pages * kPage);
  if (begin >= end) return;  // the merge does not look at this segment
  const int lane = threadIdx.x % kTeam, team = threadIdx.x / kTeam;
  const int* table = block_table + static_cast<size_t>(seq) * max_blocks_per_seq;
  const size_t first_row = (static_cast<size_t>(seq) * num_kv_heads + kv_head) * group;

  float4 query[kMaxGroup], o[kMaxGroup];
  float m[kMaxGroup], l[kMaxGroup];
#pragma unroll
  for (int g = 0; g < kMaxGroup; ++g) {
    m[g] = -INFINITY;
    l[g] = 0.f;
    o[g] = query[g] = make_float4(0.f, 0.f, 0.f, 0.f);
    if (g < group) query[g] = scaled(reinterpret_cast<const float4*>(q + (first_row + g) * D)[lane], scale);
  }

  for (int first = begin; first < end; first += kAtOnce * kTeams) {
    float4 key[kAtOnce], value[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int t = first + i * kTeams + team;
      key[i] = value[i] = make_float4(0.f, 0.f, 0.f, 0.f);
      if (t < end) {
        const size_t slot = static_cast<size_t>(table[t / kPage]) * kPage + t % kPage;
        const size_t row = (slot * num_kv_heads + kv_head) * D;
        key[i] = reinterpret_cast<const float4*>(k_cache + row)[lane];
        value[i] = reinterpret_cast<const float4*>(v_cache + row)[lane];
      }
    }
#pragma unroll
    for (int g = 0; g < kMaxGroup; ++g) {
      if (g >= group) break;
      float s[kAtOnce];
      float m_new = m[g];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        s[i] = dot(query[g], key[i]);
        for (int step = kTeam / 2; step > 0; step /= 2) s[i] += __shfl_xor_sync(0xffffffffu, s[i], step);
        if (first + i * kTeams + team >= end) s[i] = -INFINITY;
        m_new = fmaxf(m_new, s[i]);
      }
      const float shift = m_new == -INFINITY ? 0.f : m_new;  // a team without a token so far
      const float correction = __expf(m[g] - shift);
      l[g] *= correction;
      o[g] = scaled(o[g], correction);
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const float w = __expf(s[i] - shift);
        l[g] += w;
        add_scaled(o[g], value[i], w);
      }
      m[g] = m_new;
    }
  }

#pragma unroll
  for (int g = 0; g < kMaxGroup; ++g) {
    if (g >= group) break;
    if (lane == 0) all_ml[team][g] = make_float2(m[g], l[g]);
    all_o[team][g][lane] = o[g];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < group * kTeam; i += kThreads) {
    const int g = i / kTeam, at = i % kTeam;
    float top = -INFINITY, total = 0.f;
    float4 sum = make_float4(0.f, 0.f, 0.f, 0.f);
    for (int w = 0; w < kTeams; ++w) top = fmaxf(top, all_ml[w][g].x);
    for (int w = 0; w < kTeams; ++w) {
      const float factor = __expf(all_ml[w][g].x - top);  // 0 for a team without tokens
      total += factor * all_ml[w][g].y;
      add_scaled(sum, all_o[w][g][at], factor);
    }
    const size_t part = (first_row + g) * gridDim.x + segment;
    reinterpret_cast<float4*>(o_part + part * D)[at] = sum;
    if (at == 0) ml_part[part] = make_float2(top, total);
  }
}

template <int D>
__global__ void __launch_bounds__(D)
merge(const float* __restrict__ o_part, const float2* __restrict__ ml_part, const int* __restrict__ context_lens,
      float* __restrict__ out, int segments_a_row, int pages) {
  const size_t row = static_cast<size_t>(blockIdx.y) * gridDim.x + blockIdx.x;
  const int used = cdiv(context_lens[blockIdx.y], pages * kPage);
  float top = -INFINITY;
  for (int s = 0; s < used; ++s) top = fmaxf(top, ml_part[row * segments_a_row + s].x);
  float sum = 0.f, total = 0.f;
  for (int s = 0; s < used; ++s) {
    const size_t part = row * segments_a_row + s;
    const float2 ml = ml_part[part];
    const float w = __expf(ml.x - top);
    total += w * ml.y;
    sum += w * o_part[part * D + threadIdx.x];
  }
  out[row * D + threadIdx.x] = used > 0 ? sum / total : 0.f;
}
