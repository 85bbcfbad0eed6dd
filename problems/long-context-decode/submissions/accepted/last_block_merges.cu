// problem: long-context-decode
// Each row of the cache once for its whole group, by many blocks; the last block of a sequence to end merges for all.
// Measured: H200, 1x131072: 400.5 us, 59.1% of the roof; 4x65536: 693.6 us, 67.8%; mixed: 863.3 us, 48.8%.
// @workspace float o_part[num_seqs * num_heads * pieces(num_seqs * num_kv_heads, max_blocks_per_seq) * D]
// @workspace float2 ml_part[num_seqs * num_heads * pieces(num_seqs * num_kv_heads, max_blocks_per_seq)]
// @workspace int ended[num_seqs * num_kv_heads]
// @launch clear<<<cdiv(num_seqs * num_kv_heads, 128), 128>>>(ended, num_seqs * num_kv_heads)
// @launch decode<D><<<dim3(pieces(num_seqs * num_kv_heads, max_blocks_per_seq), num_kv_heads, num_seqs), kThreads>>>(q, k_cache, v_cache, block_table, context_lens, out, o_part, ml_part, ended, num_heads / num_kv_heads, max_blocks_per_seq, piece_pages(num_seqs * num_kv_heads, max_blocks_per_seq), scale)
#include "common.cuh"

constexpr int kPage = 16;
constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
constexpr int kMaxGroup = 8;       // query heads a KV head may serve
constexpr int kBlocks = 8 * 132;   // several for every SM
constexpr int kLeastPages = 16;

// Pages of a piece of the context, the same for all sequences.
__device__ int piece_pages(int rows, int max_blocks_per_seq) {
  return max(kLeastPages, cdiv(rows * max_blocks_per_seq, kBlocks));
}

__device__ int pieces(int rows, int max_blocks_per_seq) {
  return cdiv(max_blocks_per_seq, piece_pages(rows, max_blocks_per_seq));
}

__global__ void clear(int* ended, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) ended[i] = 0;
}

// Sums four numbers of each lane over the warp at once: lane j gets the total of number j / 8. Half as many shuffles
// as four sums one after the other, since each step halves what is left to send.
__device__ float sum_four(float a, float b, float c, float d, int lane) {
  const bool upper = lane & 16, odd = lane & 8;
  const float x = (upper ? c : a) + __shfl_xor_sync(0xffffffffu, upper ? a : c, 16);
  const float y = (upper ? d : b) + __shfl_xor_sync(0xffffffffu, upper ? b : d, 16);
  float sum = (odd ? y : x) + __shfl_xor_sync(0xffffffffu, odd ? x : y, 8);
  for (int step = 4; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  return sum;
}

// A warp takes four tokens at a time, which lie in one page: their rows are loaded before the first is used, lane j
// exponentiates the score of token j / 8, and no score is stored.
template <int D>
__global__ void __launch_bounds__(kThreads)
decode(const float* __restrict__ q, const float* __restrict__ k_cache, const float* __restrict__ v_cache,
       const int* __restrict__ block_table, const int* __restrict__ context_lens, float* out, float* o_part,
       float2* ml_part, int* ended, int group, int max_blocks_per_seq, int pages, float scale) {
  constexpr int kPerLane = D / 32;
  __shared__ float2 all_ml[kWarps][kMaxGroup];
  __shared__ float all_o[kWarps][kMaxGroup][D];
  __shared__ bool last;
  const int piece = blockIdx.x, kv_head = blockIdx.y, seq = blockIdx.z;
  const int num_pieces = gridDim.x, num_kv_heads = gridDim.y;
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  const int context = context_lens[seq];
  const size_t first_row = (static_cast<size_t>(seq) * num_kv_heads + kv_head) * group;
  const int begin = piece * pages * kPage;
  const int end = min(context, begin + pages * kPage);
  if (context == 0 && piece == 0) {
    for (int i = tid; i < group * D; i += kThreads) out[first_row * D + i] = 0.f;
  }
  if (begin >= end) return;
  const int* table = block_table + static_cast<size_t>(seq) * max_blocks_per_seq;

  float query[kMaxGroup][kPerLane], o[kMaxGroup][kPerLane], m[kMaxGroup], l[kMaxGroup];
#pragma unroll
  for (int g = 0; g < kMaxGroup; ++g) {
    m[g] = -INFINITY;
    l[g] = 0.f;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      query[g][i] = g < group ? q[(first_row + g) * D + lane + 32 * i] * scale : 0.f;
      o[g][i] = 0.f;
    }
  }

  for (int first = begin + 4 * warp; first < end; first += 4 * kWarps) {
    const size_t slot = static_cast<size_t>(table[first / kPage]) * kPage + first % kPage;
    float key[4][kPerLane], value[4][kPerLane];
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      const size_t row = ((slot + t) * num_kv_heads + kv_head) * D + lane;
#pragma unroll
      for (int i = 0; i < kPerLane; ++i) {
        key[t][i] = first + t < end ? k_cache[row + 32 * i] : 0.f;
        value[t][i] = first + t < end ? v_cache[row + 32 * i] : 0.f;
      }
    }
#pragma unroll
    for (int g = 0; g < kMaxGroup; ++g) {
      if (g >= group) break;
      float dot[4] = {};
#pragma unroll
      for (int t = 0; t < 4; ++t) {
#pragma unroll
        for (int i = 0; i < kPerLane; ++i) dot[t] += query[g][i] * key[t][i];
      }
      float s = sum_four(dot[0], dot[1], dot[2], dot[3], lane);
      if (first + lane / 8 >= end) s = -INFINITY;
      float m_new = fmaxf(s, __shfl_xor_sync(0xffffffffu, s, 8));
      m_new = fmaxf(m[g], fmaxf(m_new, __shfl_xor_sync(0xffffffffu, m_new, 16)));
      const float correction = __expf(m[g] - m_new), w = __expf(s - m_new);
      l[g] = l[g] * correction + w;  // of this lane's tokens alone
#pragma unroll
      for (int i = 0; i < kPerLane; ++i) o[g][i] *= correction;
#pragma unroll
      for (int t = 0; t < 4; ++t) {
        const float weight = __shfl_sync(0xffffffffu, w, 8 * t);
#pragma unroll
        for (int i = 0; i < kPerLane; ++i) o[g][i] += weight * value[t][i];
      }
      m[g] = m_new;
    }
  }

#pragma unroll
  for (int g = 0; g < kMaxGroup; ++g) {
    if (g >= group) break;
    l[g] += __shfl_xor_sync(0xffffffffu, l[g], 8);
    l[g] += __shfl_xor_sync(0xffffffffu, l[g], 16);
    if (lane == 0) all_ml[warp][g] = make_float2(m[g], l[g]);
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) all_o[warp][g][lane + 32 * i] = o[g][i];
  }
  __syncthreads();
  for (int i = tid; i < group * D; i += kThreads) {
    const int g = i / D, d = i % D;
    float top = -INFINITY, total = 0.f, sum = 0.f;
    for (int w = 0; w < kWarps; ++w) top = fmaxf(top, all_ml[w][g].x);
    for (int w = 0; w < kWarps; ++w) {
      const float factor = __expf(all_ml[w][g].x - top);  // 0 for a warp without tokens
      total += factor * all_ml[w][g].y;
      sum += factor * all_o[w][g][d];
    }
    const size_t part = (first_row + g) * num_pieces + piece;
    o_part[part * D + d] = sum;
    if (d == 0) ml_part[part] = make_float2(top, total);
  }

  // What this block stored must be seen by whoever finds that all have ended.
  __threadfence();
  __syncthreads();
  const int used = cdiv(context, pages * kPage);
  if (tid == 0) last = atomicAdd(&ended[seq * num_kv_heads + kv_head], 1) == used - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  for (int i = tid; i < group * D; i += kThreads) {
    const size_t row = first_row + i / D;
    float top = -INFINITY, total = 0.f, sum = 0.f;
    for (int p = 0; p < used; ++p) top = fmaxf(top, ml_part[row * num_pieces + p].x);
    for (int p = 0; p < used; ++p) {
      const float2 ml = ml_part[row * num_pieces + p];
      const float w = __expf(ml.x - top);
      total += w * ml.y;
      sum += w * o_part[(row * num_pieces + p) * D + i % D];
    }
    out[row * D + i % D] = sum / total;
  }
}
