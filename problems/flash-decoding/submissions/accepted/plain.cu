// problem: flash-decoding
// 8 segments a query head, each a block that stores its output, m and l; a second launch merges them. It shows the
// split and the merge; the number of segments is the same whatever the sequence and the device.
// Measured: H200, 1x131072: 6394 us, 168 GB/s, 3.7% of the roof; 4x16384: 832.4 us, 645 GB/s, 14.4%; mixed: 1566 us,
// 247 GB/s, 5.5%.
// @workspace float o_part[num_seqs * num_heads * kSplits * D]
// @workspace float m_part[num_seqs * num_heads * kSplits]
// @workspace float l_part[num_seqs * num_heads * kSplits]
// @launch partial<D><<<dim3(kSplits, num_heads, num_seqs), kThreads>>>(q, k_cache, v_cache, block_table, context_lens, o_part, m_part, l_part, num_kv_heads, max_blocks_per_seq, scale)
// @launch merge<D><<<dim3(num_heads, num_seqs), D>>>(o_part, m_part, l_part, out)
#include "common.cuh"

constexpr int kPage = 16;
constexpr int kThreads = 128;
constexpr int kSplits = 8;  // segments of whole pages; the last ones of a short context are empty

template <int D>
__global__ void __launch_bounds__(kThreads)
partial(const float* q, const float* k_cache, const float* v_cache, const int* block_table, const int* context_lens,
        float* o_part, float* m_part, float* l_part, int num_kv_heads, int max_blocks_per_seq, float scale) {
  __shared__ float scores[kPage];
  const int split = blockIdx.x, head = blockIdx.y, seq = blockIdx.z;
  const int num_heads = gridDim.y;
  const int kv_head = head / (num_heads / num_kv_heads);
  const int context = context_lens[seq];
  const int pages = cdiv(context, kPage);
  const int length = cdiv(pages, kSplits) * kPage;  // tokens a segment
  const int begin = split * length;
  const int end = min(context, begin + length);
  const int* table = block_table + static_cast<size_t>(seq) * max_blocks_per_seq;
  const size_t row = static_cast<size_t>(seq) * num_heads + head;
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;

  float m = -INFINITY, l = 0.f, o = 0.f;
  for (int first = begin; first < end; first += kPage) {
    const int tokens = min(kPage, end - first);
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
  const size_t part = row * kSplits + split;
  if (tid < D) o_part[part * D + tid] = l == 0.f ? 0.f : o / l;
  if (tid == 0) {
    m_part[part] = m;
    l_part[part] = l;
  }
}

// One thread a dimension; every thread computes the weights of the segments for itself.
template <int D>
__global__ void merge(const float* o_part, const float* m_part, const float* l_part, float* out) {
  const size_t row = static_cast<size_t>(blockIdx.y) * gridDim.x + blockIdx.x;
  float top = -INFINITY;
  for (int s = 0; s < kSplits; ++s) top = fmaxf(top, m_part[row * kSplits + s]);
  float sum = 0.f, total = 0.f;
  for (int s = 0; s < kSplits; ++s) {
    const size_t part = row * kSplits + s;
    if (l_part[part] == 0.f) continue;
    const float w = expf(m_part[part] - top) * l_part[part];
    sum += w * o_part[part * D + threadIdx.x];
    total += w;
  }
  out[row * D + threadIdx.x] = total == 0.f ? 0.f : sum / total;
}
