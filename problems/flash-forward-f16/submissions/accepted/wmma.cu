// problem: flash-forward-f16
// wmma: 16 queries a warp. Scores and output pass through shared memory: which lane has which element is unspecified.
// Measured: H200, 4096-64-causal: 886.7 us, 4.2% of the roof; 8192-128: 14.9 ms, 4.0%; 8192-128-causal: 8101 us,
// 3.7%.
// @launch wmma_forward<D><<<dim3((N + kQueries - 1) / kQueries, BH), 32 * kWarps>>>(Q, K, V, O, N, scale, causal)
#include <cuda_fp16.h>
#include <mma.h>
#include "common.cuh"

using namespace nvcuda;

constexpr int kWarps = 2;
constexpr int kQueries = 16 * kWarps;  // queries a block, 16 for each warp

template <int D>
constexpr int kTile = D > 64 ? 16 : 32;  // keys a tile, so that all tiles fit into 48 KB

// Rows first .. first + rows - 1 of a [n, D] matrix; zeros past the end.
template <int D>
__device__ void load_rows(__half (*tile)[D + 8], const __half* matrix, int first, int rows, int n) {
  for (int i = threadIdx.x; i < rows * (D / 8); i += 32 * kWarps) {
    const int row = i / (D / 8), d = i % (D / 8) * 8;
    uint4 packed = make_uint4(0, 0, 0, 0);
    if (first + row < n) packed = *reinterpret_cast<const uint4*>(matrix + static_cast<size_t>(first + row) * D + d);
    *reinterpret_cast<uint4*>(&tile[row][d]) = packed;
  }
}

template <int D>
__global__ void __launch_bounds__(32 * kWarps)
wmma_forward(const __half* Q, const __half* K, const __half* V, __half* O, int N, float scale, bool causal) {
  constexpr int kKeys = kTile<D>;
  constexpr int kScoreRow = kKeys + 4;   // floats in a row of scores: wmma asks for a multiple of 4
  constexpr int kWeightRow = kKeys + 8;  // halves in a row of weights: wmma asks for a multiple of 8
  __shared__ __align__(32) __half q_tile[kQueries][D + 8];
  __shared__ __align__(32) __half k_tile[kKeys][D + 8];
  __shared__ __align__(32) __half v_tile[kKeys][D + 8];
  __shared__ __align__(32) float scores[kWarps][16][kScoreRow];
  __shared__ __align__(32) __half weights[kWarps][16][kWeightRow];
  __shared__ __align__(32) float outputs[kQueries][D + 4];
  const size_t head = static_cast<size_t>(blockIdx.y) * N * D;
  const int first_query = blockIdx.x * kQueries;
  const int warp = threadIdx.x / 32;
  // Two lanes have a row: one the first half of its keys and dimensions, one the second.
  const int row = threadIdx.x % 32 / 2, half = threadIdx.x % 2;
  const int query = first_query + 16 * warp + row;
  float* o = outputs[16 * warp + row] + half * (D / 2);

  load_rows<D>(q_tile, Q + head, first_query, kQueries, N);
  for (int d = 0; d < D / 2; ++d) o[d] = 0.f;
  float m = -INFINITY, l = 0.f;

  const int key_end = causal ? min(N, first_query + kQueries) : N;
  for (int first = 0; first < key_end; first += kKeys) {
    __syncthreads();  // nobody reads the last tile any more
    load_rows<D>(k_tile, K + head, first, kKeys, N);
    load_rows<D>(v_tile, V + head, first, kKeys, N);
    __syncthreads();

    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    for (int key = 0; key < kKeys; key += 16) {
      wmma::fill_fragment(sums, 0.f);
      for (int d = 0; d < D; d += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> q;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> k;  // a column is a key
        wmma::load_matrix_sync(q, &q_tile[16 * warp][d], D + 8);
        wmma::load_matrix_sync(k, &k_tile[key][d], D + 8);
        wmma::mma_sync(sums, q, k, sums);
      }
      wmma::store_matrix_sync(&scores[warp][0][key], sums, kScoreRow, wmma::mem_row_major);
    }
    __syncwarp();

    float s[kKeys / 2], top = m;
    for (int j = 0; j < kKeys / 2; ++j) {
      const int at = half * (kKeys / 2) + j, key = first + at;
      const bool hidden = key >= N || (causal && key > query);
      s[j] = hidden ? -INFINITY : scores[warp][row][at] * scale;
      top = fmaxf(top, s[j]);
    }
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
    const float base = top > -INFINITY ? top : 0.f;  // no key visible yet: every weight is exp(-inf) = 0
    const float correction = __expf(m - base);
    float sum = 0.f;
    for (int j = 0; j < kKeys / 2; ++j) {
      const float w = __expf(s[j] - base);
      weights[warp][row][half * (kKeys / 2) + j] = __float2half(w);
      sum += w;
    }
    l = l * correction + sum + __shfl_xor_sync(0xffffffffu, sum, 1);
    m = top;
    for (int d = 0; d < D / 2; ++d) o[d] *= correction;
    __syncwarp();

    for (int d = 0; d < D; d += 16) {
      wmma::load_matrix_sync(sums, &outputs[16 * warp][d], D + 4, wmma::mem_row_major);
      for (int key = 0; key < kKeys; key += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> w;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> v;
        wmma::load_matrix_sync(w, &weights[warp][0][key], kWeightRow);
        wmma::load_matrix_sync(v, &v_tile[key][d], D + 8);
        wmma::mma_sync(sums, w, v, sums);
      }
      wmma::store_matrix_sync(&outputs[16 * warp][d], sums, D + 4, wmma::mem_row_major);
    }
    __syncwarp();
  }

  if (query < N) {
    for (int d = 0; d < D / 2; ++d) {
      O[head + static_cast<size_t>(query) * D + half * (D / 2) + d] = __float2half(o[d] / l);
    }
  }
}
