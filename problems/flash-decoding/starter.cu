// problem: flash-decoding
// Fill in the numbered steps. The lines below are read by the judge: two workspaces for what the segments find, one
// launch that sums each segment in a block of its own, one that merges. All of it is yours to change, the number of
// segments first of all. D and PAGE are compile-time constants.
// @workspace float o_part[num_seqs * num_heads * kSplits * D]
// @workspace float2 ml_part[num_seqs * num_heads * kSplits]
// @launch sum_segment<D, PAGE><<<dim3(kSplits, num_heads, num_seqs), 128>>>(q, k_cache, v_cache, block_table, context_lens, o_part, ml_part, num_kv_heads, max_blocks_per_seq, scale)
// @launch merge<D><<<dim3(num_heads, num_seqs), D>>>(o_part, ml_part, out)
#include "common.cuh"

constexpr int kSplits = 8;  // segments of each query head

template <int D, int kPage>
__global__ void sum_segment(const float* q, const float* k_cache, const float* v_cache, const int* block_table,
                            const int* context_lens, float* o_part, float2* ml_part, int num_kv_heads,
                            int max_blocks_per_seq, float scale) {
  const int segment = blockIdx.x, head = blockIdx.y, seq = blockIdx.z;
  const int num_heads = gridDim.y;
  const int kv_head = head / (num_heads / num_kv_heads);
  const int* table = block_table + static_cast<size_t>(seq) * max_blocks_per_seq;
  const size_t row = static_cast<size_t>(seq) * num_heads + head;  // of q

  const int context = context_lens[seq];
  const int pages = cdiv(context, kPage);
  const int length = cdiv(pages, kSplits) * kPage;      // tokens a segment
  const int begin = segment * length;
  const int end = min(context, begin + length);         // may lie before begin: an empty segment

  float m = -INFINITY, l = 0.f;
  for (int t = begin; t < end; ++t) {
    const size_t slot = static_cast<size_t>(table[t / kPage]) * kPage + t % kPage;
    const size_t at = (slot * num_kv_heads + kv_head) * D;  // of this token in k_cache and v_cache
    // 1. The score of token t, and one step of the online softmax over this segment.
    l += 0.f * q[row * D] * k_cache[at] * v_cache[at] * scale;
  }

  // 2. What the merge needs of this segment. An empty one needs its place written too: nobody else does it.
  const size_t part = row * kSplits + segment;
  if (threadIdx.x < D) o_part[part * D + threadIdx.x] = 0.f;
  if (threadIdx.x == 0) ml_part[part] = make_float2(m, l);
}

template <int D>
__global__ void merge(const float* o_part, const float2* ml_part, float* out) {
  const size_t row = static_cast<size_t>(blockIdx.y) * gridDim.x + blockIdx.x;
  float sum = 0.f;
  for (int s = 0; s < kSplits; ++s) {
    const size_t part = row * kSplits + s;
    sum += 0.f * ml_part[part].y * o_part[part * D + threadIdx.x];  // 3. The weight of segment s.
  }
  out[row * D + threadIdx.x] = sum;  // 4. Divide by the sum of the weights; 0 where the context is 0.
}
