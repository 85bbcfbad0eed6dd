// problem: flash-forward
// One warp a query and no tile: lane i owns the dimensions i, i + 32, ..., and a loop ends at the diagonal.
// Measured: H200, 4096-64: 14.9 ms, 7.4% of the roof; 4096-64-causal: 8543 us, 6.5%; 8192-128: 76.8 ms, 11.5%;
// 8192-128-causal: 39.0 ms, 11.4%.
// @launch attend<D><<<dim3((N + kWarps - 1) / kWarps, BH), 32 * kWarps>>>(Q, K, V, O, N, scale, causal)
#include "common.cuh"

constexpr int kWarps = 8;  // queries a block

__device__ float warp_sum(float x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

// Every lane repeats the exponentials and the reduction, which makes several times the least arithmetic. None of
// it is spent on keys that the mask hides.
template <int D>
__global__ void __launch_bounds__(32 * kWarps)
attend(const float* Q, const float* K, const float* V, float* O, int N, float scale, bool causal) {
  constexpr int kPerLane = D / 32;
  const int lane = threadIdx.x % 32;
  const int query = blockIdx.x * kWarps + threadIdx.x / 32;
  if (query >= N) return;
  const size_t head = static_cast<size_t>(blockIdx.y) * N * D;
  const size_t mine = head + static_cast<size_t>(query) * D + lane;

  float q[kPerLane], o[kPerLane];
  for (int i = 0; i < kPerLane; ++i) {
    q[i] = Q[mine + 32 * i] * scale;
    o[i] = 0.f;
  }
  float m = -INFINITY, l = 0.f;
  const int key_end = causal ? query + 1 : N;
  for (int key = 0; key < key_end; ++key) {
    const size_t row = head + static_cast<size_t>(key) * D + lane;
    float dot = 0.f;
    for (int i = 0; i < kPerLane; ++i) dot += q[i] * K[row + 32 * i];
    const float s = warp_sum(dot);
    const float m_new = fmaxf(m, s);
    const float correction = __expf(m - m_new);
    const float w = __expf(s - m_new);
    l = l * correction + w;
    for (int i = 0; i < kPerLane; ++i) o[i] = o[i] * correction + w * V[row + 32 * i];
    m = m_new;
  }
  for (int i = 0; i < kPerLane; ++i) O[mine + 32 * i] = o[i] / l;
}
