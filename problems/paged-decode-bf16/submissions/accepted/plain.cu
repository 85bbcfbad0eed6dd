// problem: paged-decode-bf16
// One block a KV head: pages come in 16-byte loads and are widened on their way into shared memory. The default launch.
// It shows how 16 bits are loaded and widened; loads and products wait for each other at barriers.
// Measured: H200, 64x4096: 1632 us, 659 GB/s, 14.5% of the roof.
#include <cuda_bf16.h>
#include "common.cuh"

constexpr int kPage = 16;
constexpr int kThreads = 128;
constexpr int kMaxGroup = 8;  // query heads a KV head may serve
constexpr int kVector = 8;    // bfloat16 values in 16 bytes

// A bfloat16 is the upper half of a float. The even element of a word is its lower half, the odd one its upper.
__device__ void widen(uint4 packed, float* to) {
  const unsigned words[4] = {packed.x, packed.y, packed.z, packed.w};
  for (int i = 0; i < 4; ++i) {
    to[2 * i] = __uint_as_float(words[i] << 16);
    to[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
  }
}

// A block has one KV head of one sequence. It stages a page of K and V in shared memory once and serves all the
// query heads of the group from there.
template <int D>
__global__ void __launch_bounds__(kThreads)
paged_decode_bf16(const float* q, const __nv_bfloat16* k_cache, const __nv_bfloat16* v_cache, const int* block_table,
                  const int* context_lens, float* out, int num_heads, int num_kv_heads, int max_blocks_per_seq,
                  float scale) {
  __shared__ float queries[kMaxGroup][D];
  __shared__ float keys[kPage][D + 1];
  __shared__ float values[kPage][D];
  __shared__ float scores[kMaxGroup][kPage];
  const int kv_head = blockIdx.x, seq = blockIdx.y;
  const int group = num_heads / num_kv_heads;
  const int first_head = kv_head * group;
  const int context = context_lens[seq];
  const int* table = block_table + static_cast<size_t>(seq) * max_blocks_per_seq;
  const int tid = threadIdx.x;
  const size_t rows = (static_cast<size_t>(seq) * num_heads + first_head) * D;

  for (int i = tid; i < group * D; i += kThreads) queries[i / D][i % D] = q[rows + i];
  float m[kMaxGroup], l[kMaxGroup], o[kMaxGroup];
  for (int g = 0; g < kMaxGroup; ++g) {
    m[g] = -INFINITY;
    l[g] = 0.f;
    o[g] = 0.f;
  }

  for (int first = 0; first < context; first += kPage) {
    const int tokens = min(kPage, context - first);
    const size_t page = table[first / kPage];
    __syncthreads();
    for (int i = tid; i < tokens * (D / kVector); i += kThreads) {
      const int t = i / (D / kVector), d = i % (D / kVector) * kVector;
      const size_t at = ((page * kPage + t) * num_kv_heads + kv_head) * D + d;
      const uint4 key = *reinterpret_cast<const uint4*>(k_cache + at);
      const uint4 value = *reinterpret_cast<const uint4*>(v_cache + at);
      widen(key, &keys[t][d]);
      widen(value, &values[t][d]);
    }
    __syncthreads();
    for (int i = tid; i < group * tokens; i += kThreads) {
      const int g = i / tokens, t = i % tokens;
      float dot = 0.f;
      for (int d = 0; d < D; ++d) dot += queries[g][d] * keys[t][d];
      scores[g][t] = dot * scale;
    }
    __syncthreads();
    if (tid < D) {
      for (int g = 0; g < group; ++g) {
        float m_new = m[g];
        for (int t = 0; t < tokens; ++t) m_new = fmaxf(m_new, scores[g][t]);
        const float correction = expf(m[g] - m_new);
        l[g] *= correction;
        o[g] *= correction;
        for (int t = 0; t < tokens; ++t) {
          const float w = expf(scores[g][t] - m_new);
          l[g] += w;
          o[g] += w * values[t][tid];
        }
        m[g] = m_new;
      }
    }
  }

  if (tid < D) {
    for (int g = 0; g < group; ++g) out[rows + g * D + tid] = o[g] / l[g];
  }
}
