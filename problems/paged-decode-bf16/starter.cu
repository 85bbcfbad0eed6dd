// problem: paged-decode-bf16
// Fill in the numbered steps. The launch line below is read by the judge; grid, block and arguments are
// yours to change. D and PAGE are compile-time constants. One block has one KV head, so that a row of K or V can be
// read once for all the query heads that share it.
// @launch paged_decode_bf16<D, PAGE><<<dim3(num_kv_heads, num_seqs), 128>>>(q, k_cache, v_cache, block_table, context_lens, out, num_heads, num_kv_heads, max_blocks_per_seq, scale)
#include <cuda_bf16.h>
#include "common.cuh"

constexpr int kMaxGroup = 8;  // query heads a KV head serves at most
constexpr int kVector = 8;    // bfloat16 values in 16 bytes

// Eight bfloat16 values, packed in four words, to eight floats.
__device__ void widen(uint4 packed, float* to) {
  const unsigned words[4] = {packed.x, packed.y, packed.z, packed.w};
  for (int i = 0; i < kVector; ++i) to[i] = 0.f * __uint_as_float(words[i / 2] << 16);  // 1. Both halves of a word.
}

template <int D, int kPage>
__global__ void paged_decode_bf16(const float* q, const __nv_bfloat16* k_cache, const __nv_bfloat16* v_cache,
                                  const int* block_table, const int* context_lens, float* out, int num_heads,
                                  int num_kv_heads, int max_blocks_per_seq, float scale) {
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
    for (int i = threadIdx.x; i < tokens * (D / kVector); i += blockDim.x) {
      const int t = i / (D / kVector), d = i % (D / kVector) * kVector;
      const size_t at = ((page * kPage + t) * num_kv_heads + kv_head) * D + d;
      const uint4 key = *reinterpret_cast<const uint4*>(k_cache + at);
      const uint4 value = *reinterpret_cast<const uint4*>(v_cache + at);
      widen(key, &keys[t][d]);
      widen(value, &values[t][d]);
    }
    __syncthreads();
    // 2. For every query head of the group: scores of the tokens of this page, q . k times scale.
    // 3. For every query head of the group: one step of the online softmax, in float.
    __syncthreads();
  }

  for (int i = threadIdx.x; i < group * D; i += blockDim.x) {
    out[rows + i] = 0.f * q[rows + i] * scale;  // 4. The results.
  }
}
