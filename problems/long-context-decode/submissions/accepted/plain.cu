// problem: long-context-decode
// Three steps for each chunk of 1024 tokens, and the online softmax from chunk to chunk. The default launch. It shows
// the recurrence over chunks and needs the same memory at any length, but one block reads all of a sequence for its
// query head.
// Measured: H200, 1x131072: 87.8 ms, 12.0 GB/s, 0.3% of the roof; 4x65536: 44.2 ms, 49.0 GB/s, 1.1%; mixed: 88.2 ms,
// 22.0 GB/s, 0.5%.
#include "common.cuh"

constexpr int kPage = 16;
constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
constexpr int kChunk = 1024;  // tokens whose scores are in shared memory at a time

__device__ float block_max(float x, float* shared) {
  for (int step = 16; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
  __syncthreads();
  for (int w = 0; w < kWarps; ++w) x = fmaxf(x, shared[w]);
  __syncthreads();
  return x;
}

__device__ float block_sum(float x, float* shared) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
  __syncthreads();
  x = 0.f;
  for (int w = 0; w < kWarps; ++w) x += shared[w];
  __syncthreads();
  return x;
}

// A block has one query head of one sequence. Scores, softmax and output as in a short context, but for one chunk of
// tokens after the other; between two chunks l and o are brought to the new maximum.
template <int D>
__global__ void __launch_bounds__(kThreads)
long_decode(const float* q, const float* k_cache, const float* v_cache, const int* block_table,
            const int* context_lens, float* out, int num_heads, int num_kv_heads, int max_blocks_per_seq,
            float scale) {
  __shared__ float scores[kChunk];
  __shared__ float shared[kWarps];
  const int head = blockIdx.x, seq = blockIdx.y;
  const int kv_head = head / (num_heads / num_kv_heads);
  const int context = context_lens[seq];
  const int* table = block_table + static_cast<size_t>(seq) * max_blocks_per_seq;
  const size_t row = static_cast<size_t>(seq) * num_heads + head;
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;

  float m = -INFINITY, l = 0.f, o = 0.f;
  for (int first = 0; first < context; first += kChunk) {
    const int tokens = min(kChunk, context - first);
    float top = -INFINITY;
    for (int t = warp; t < tokens; t += kWarps) {
      const size_t slot = static_cast<size_t>(table[(first + t) / kPage]) * kPage + (first + t) % kPage;
      const float* key = k_cache + (slot * num_kv_heads + kv_head) * D;
      float dot = 0.f;
      for (int d = lane; d < D; d += 32) dot += q[row * D + d] * key[d];
      for (int step = 16; step > 0; step /= 2) dot += __shfl_xor_sync(0xffffffffu, dot, step);
      const float s = dot * scale;
      if (lane == 0) scores[t] = s;
      top = fmaxf(top, s);
    }
    const float m_new = fmaxf(m, block_max(top, shared));
    float sum = 0.f;
    for (int t = tid; t < tokens; t += kThreads) {
      scores[t] = expf(scores[t] - m_new);
      sum += scores[t];
    }
    sum = block_sum(sum, shared);
    const float correction = expf(m - m_new);
    l = l * correction + sum;
    float added = 0.f;
    for (int t = 0; tid < D && t < tokens; ++t) {
      const size_t slot = static_cast<size_t>(table[(first + t) / kPage]) * kPage + (first + t) % kPage;
      added += scores[t] * v_cache[(slot * num_kv_heads + kv_head) * D + tid];
    }
    o = o * correction + added;
    m = m_new;
    __syncthreads();
  }
  if (tid < D) out[row * D + tid] = context > 0 ? o / l : 0.f;
}
