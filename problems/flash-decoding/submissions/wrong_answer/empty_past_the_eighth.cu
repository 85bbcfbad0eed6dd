// problem: flash-decoding
// Zeros for sequences without tokens, by one block of eight warps: a ninth sequence gets none.
// expect-case: empty-among-many
// expect-diagnosis: unwritten
// @launch clear_empty<<<1, 256>>>(context_lens, out, num_seqs, num_heads * D)
// @launch flash_decoding<D><<<dim3(num_heads, num_seqs), kThreads>>>(q, k_cache, v_cache, block_table, context_lens, out, num_heads, num_kv_heads, max_blocks_per_seq, scale)
#include "common.cuh"

constexpr int kPage = 16;
constexpr int kThreads = 128;

// A warp a sequence: zeros where it has no token.
__global__ void __launch_bounds__(256) clear_empty(const int* context_lens, float* out, int num_seqs, int numbers) {
  const int seq = threadIdx.x / 32;
  if (seq >= num_seqs || context_lens[seq] > 0) return;
  for (int i = threadIdx.x % 32; i < numbers; i += 32) out[static_cast<size_t>(seq) * numbers + i] = 0.f;
}

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
  if (context == 0) return;  // clear_empty has written its zeros
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
  if (tid < D) out[row * D + tid] = o / l;
}
