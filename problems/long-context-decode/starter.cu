// problem: long-context-decode
// Fill in the numbered steps. The launch line below is read by the judge; grid, block and arguments are yours to
// change, and so is the chunk. D and PAGE are compile-time constants.
// @launch long_decode<D, PAGE><<<dim3(num_heads, num_seqs), 128>>>(q, k_cache, v_cache, block_table, context_lens, out, num_heads, num_kv_heads, max_blocks_per_seq, scale)
#include "common.cuh"

constexpr int kChunk = 1024;  // tokens whose scores are in shared memory at a time

template <int D, int kPage>
__global__ void long_decode(const float* q, const float* k_cache, const float* v_cache, const int* block_table,
                            const int* context_lens, float* out, int num_heads, int num_kv_heads,
                            int max_blocks_per_seq, float scale) {
  __shared__ float scores[kChunk];
  const int head = blockIdx.x, seq = blockIdx.y;
  const int kv_head = head / (num_heads / num_kv_heads);
  const int context = context_lens[seq];
  const int* table = block_table + static_cast<size_t>(seq) * max_blocks_per_seq;
  const size_t row = static_cast<size_t>(seq) * num_heads + head;  // of q and out

  float o = 0.f;  // of dimension threadIdx.x
  for (int first = 0; first < context; first += kChunk) {
    const int tokens = min(kChunk, context - first);
    for (int t = threadIdx.x; t < tokens; t += blockDim.x) {
      const size_t slot = static_cast<size_t>(table[(first + t) / kPage]) * kPage + (first + t) % kPage;
      const size_t at = (slot * num_kv_heads + kv_head) * D;  // of this token in k_cache and v_cache
      scores[t] = 0.f * q[row * D] * k_cache[at] * v_cache[at] * scale;  // 1. The score.
    }
    __syncthreads();
    // 2. The new maximum, and the factor that brings l and o to it.
    // 3. The exponentials and their sum, then the values of this chunk, each with its weight.
    o += scores[0];
    __syncthreads();
  }

  if (threadIdx.x < D) out[row * D + threadIdx.x] = o;  // 4. Divide by l; 0 where there is no token.
}
