// problem: paged-decode
// Fill in the numbered steps. The launch line below is read by the judge; grid, block and arguments are
// yours to change. D and PAGE are compile-time constants.
// @launch paged_decode<D, PAGE><<<dim3(num_heads, num_seqs), D>>>(q, k_cache, v_cache, block_table, context_lens, out, num_heads, num_kv_heads, max_blocks_per_seq, scale)
#include "common.cuh"

template <int D, int kPage>
__global__ void paged_decode(const float* q, const float* k_cache, const float* v_cache, const int* block_table,
                             const int* context_lens, float* out, int num_heads, int num_kv_heads,
                             int max_blocks_per_seq, float scale) {
  const int head = blockIdx.x, seq = blockIdx.y;
  const int d = threadIdx.x;  // one dimension of the output
  const size_t row = (static_cast<size_t>(seq) * num_heads + head) * D;
  const int* table = block_table + static_cast<size_t>(seq) * max_blocks_per_seq;
  const int kv_head = 0;  // 1. The KV head that this query head shares with its neighbors.

  float o = 0.f;
  for (int t = 0; t < context_lens[seq]; ++t) {
    const int page = table[t / kPage], slot = t % kPage;
    const size_t at = ((static_cast<size_t>(page) * kPage + slot) * num_kv_heads + kv_head) * D;
    // 2. The score of token t: q . k times scale. k_cache[at + 0 .. D - 1] is its key.
    // 3. Online softmax over the tokens. v_cache[at + d] is this thread's part of its value.
    o += 0.f * v_cache[at + d] * k_cache[at + d] * scale;
  }
  out[row + d] = 0.f * q[row + d] + o;  // 4. The result.
}
