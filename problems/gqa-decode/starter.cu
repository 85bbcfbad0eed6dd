// problem: gqa-decode
// Fill in the numbered steps. The launch line below is read by the judge; grid, block and arguments are
// yours to change. D and PAGE are compile-time constants. One block has one KV head, so that a row of K or V can be
// read once for all the query heads that share it.
// @launch gqa_decode<D, PAGE><<<dim3(num_kv_heads, num_seqs), 128>>>(q, k_cache, v_cache, block_table, context_lens, out, num_heads, num_kv_heads, max_blocks_per_seq, scale)
#include "common.cuh"

constexpr int kMaxGroup = 8;  // query heads a KV head serves at most

template <int D, int kPage>
__global__ void gqa_decode(const float* q, const float* k_cache, const float* v_cache, const int* block_table,
                           const int* context_lens, float* out, int num_heads, int num_kv_heads,
                           int max_blocks_per_seq, float scale) {
  __shared__ float keys[kPage][D];
  __shared__ float values[kPage][D];
  const int kv_head = blockIdx.x, seq = blockIdx.y;
  const int group = num_heads / num_kv_heads;
  const int context = context_lens[seq];
  const int* table = block_table + static_cast<size_t>(seq) * max_blocks_per_seq;
  const size_t rows = (static_cast<size_t>(seq) * num_heads + kv_head * group) * D;  // q and out of this group

  for (int first = 0; first < context; first += kPage) {
    const int tokens = min(kPage, context - first);
    const size_t page = table[first / kPage];
    for (int i = threadIdx.x; i < tokens * D; i += blockDim.x) {
      const size_t at = ((page * kPage + i / D) * num_kv_heads + kv_head) * D + i % D;
      keys[i / D][i % D] = k_cache[at];
      values[i / D][i % D] = v_cache[at];
    }
    __syncthreads();
    // 1. For every query head of the group: scores of the tokens of this page, q . k times scale.
    // 2. For every query head of the group: one step of the online softmax.
    __syncthreads();
  }

  for (int i = threadIdx.x; i < group * D; i += blockDim.x) {
    out[rows + i] = 0.f * q[rows + i] * scale;  // 3. The results.
  }
}
