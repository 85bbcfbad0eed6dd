// problem: flash-decoding
// A single launch, a block a query head: right, but slow where there are few queries. The default launch.
// Measured: H200, 1x131072: 38.9 ms, 0.6% of the roof; 4x16384: 4765 us, 2.5%; mixed: 9461 us, 0.9%.
#include "common.cuh"

constexpr int kPage = 16;
constexpr int kThreads = 128;

// A block has one query head of one sequence and walks along its pages: the warps share the scores of a page, then
// a thread adds the page to its dimension.
template <int D>
__global__ void __launch_bounds__(kThreads)
flash_decoding(const float* q, const float* k_cache, const float* v_cache, const int* block_table,
               const int* context_lens, float* out, int num_heads, int num_kv_heads, int max_blocks_per_seq,
               float scale) {
  __shared__ float scores[kPage];
  const int head = blockIdx.x, seq = blockIdx.y;
  const int kv_head = head / (num_heads / num_kv_heads);
  const int context = context_lens[seq];
  const int* table = block_table + static_cast<size_t>(seq) * max_blocks_per_seq;
  const size_t row = static_cast<size_t>(seq) * num_heads + head;
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;

  float m = -INFINITY, l = 0.f, o = 0.f;
  for (int first = 0; first < context; first += kPage) {
    const int tokens = min(kPage, context - first);
    const size_t page = table[first / kPage];
    for (int t = warp; t < tokens; t += kThreads / 32) {
      const float* key = k_cache + ((page * kPage + t) * num_kv_heads + kv_head) * D;
      float dot = 0.f;
      for (int d = lane; d < D; d += 32) dot += q[row * D + d] * key[d];
      for (int step = 16; step > 0; step /= 2) dot += __shfl_xor_sync(0xffffffffu, dot, step);
      if (lane == 0) scores[t] = dot * scale;
    }
    __syncthreads();
    if (tid < D) {
      float m_new = m;
      for (int t = 0; t < tokens; ++t) m_new = fmaxf(m_new, scores[t]);
      const float correction = expf(m - m_new);
      l *= correction;
      o *= correction;
      for (int t = 0; t < tokens; ++t) {
        const float w = expf(scores[t] - m_new);
        l += w;
        o += w * v_cache[((page * kPage + t) * num_kv_heads + kv_head) * D + tid];
      }
      m = m_new;
    }
    __syncthreads();
  }
  if (tid < D) out[row * D + tid] = l == 0.f ? 0.f : o / l;
}
