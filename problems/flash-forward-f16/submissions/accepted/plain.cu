// problem: flash-forward-f16
// One thread a query, sums in float, no tensor cores: half is only how the matrices are stored. The default launch. It
// shows what the types ask for, and how far float32 units get: what tensor cores are to be measured against.
// Measured: H200, 4096-64-causal: 2867 us, 12.0 TFLOP/s, 1.3% of the roof; 8192-128: 58.4 ms, 9.4 TFLOP/s, 1.0%;
// 8192-128-causal: 36.5 ms, 7.5 TFLOP/s, 0.8%.
#include <cuda_fp16.h>
#include "common.cuh"

constexpr int kQueries = 64;  // threads of a block, one query each
constexpr int kKeys = 32;     // keys staged in shared memory at a time

template <int D>
__global__ void __launch_bounds__(kQueries)
flash_forward_f16(const __half* Q, const __half* K, const __half* V, __half* O, int N, float scale, bool causal) {
  __shared__ float k_tile[kKeys][D];
  __shared__ float v_tile[kKeys][D];
  const size_t q_head = static_cast<size_t>(blockIdx.y) * N * D;
  const size_t kv_head = static_cast<size_t>(blockIdx.y) * N * D;
  const int query = blockIdx.x * kQueries + threadIdx.x;
  const bool mine = query < N;

  float q[D], o[D];
  for (int d = 0; d < D; ++d) {
    q[d] = mine ? __half2float(Q[q_head + static_cast<size_t>(query) * D + d]) : 0.f;
    o[d] = 0.f;
  }
  float m = -INFINITY;
  float l = 0.f;
  const int last_query = min(N, static_cast<int>(blockIdx.x + 1) * kQueries);
  const int key_end = causal ? last_query : N;

  for (int first = 0; first < key_end; first += kKeys) {
    for (int i = threadIdx.x; i < kKeys * D; i += kQueries) {
      const int row = i / D, d = i % D;
      const bool inside = first + row < N;
      k_tile[row][d] = inside ? __half2float(K[kv_head + static_cast<size_t>(first + row) * D + d]) : 0.f;
      v_tile[row][d] = inside ? __half2float(V[kv_head + static_cast<size_t>(first + row) * D + d]) : 0.f;
    }
    __syncthreads();

    float s[kKeys];
    float m_new = m;
    for (int j = 0; j < kKeys; ++j) {
      const int key = first + j;
      float dot = 0.f;
      for (int d = 0; d < D; ++d) dot += q[d] * k_tile[j][d];
      bool hidden = key >= N;
      if (causal && key > query) hidden = true;
      s[j] = hidden ? -INFINITY : dot * scale;
      m_new = fmaxf(m_new, s[j]);
    }

    if (m_new > -INFINITY) {  // false only while no key of any tile was visible
      const float correction = __expf(m - m_new);
      l *= correction;
      for (int d = 0; d < D; ++d) o[d] *= correction;
      for (int j = 0; j < kKeys; ++j) {
        const float w = __expf(s[j] - m_new);
        l += w;
        for (int d = 0; d < D; ++d) o[d] += w * v_tile[j][d];
      }
      m = m_new;
    }
    __syncthreads();  // nobody may overwrite the tile while another still reads it
  }

  if (mine) {
    for (int d = 0; d < D; ++d) O[q_head + static_cast<size_t>(query) * D + d] = __float2half(o[d] / l);
  }
}
