// problem: standard-attention
// Both products in tiles of 64 x 64 with 4 x 4 results a thread; a warp a row in the softmax; masked tiles left out.
// Measured: H200, 2048-128: 1882 us, 29.4% of the roof; 4096-64: 1184 us, 23.3%; 4096-64-causal: 885.4 us, 15.7%.
// @workspace float scores[BH * static_cast<long long>(N) * N]
// @launch multiply<D><<<dim3(cdiv(N, kTile), cdiv(N, kTile), BH), dim3(16, 16)>>>(Q, K, scores, N, scale, causal)
// @launch softmax<<<dim3(cdiv(N, kWarps), BH), dim3(32, kWarps)>>>(scores, N, causal)
// @launch weigh<D><<<dim3(cdiv(N, kTile), BH), dim3(16, 16)>>>(scores, V, O, N, causal)
#include "common.cuh"

constexpr int kTile = 64;    // queries and keys of a tile of scores
constexpr int kChunk = 32;   // dimensions, or keys, that are staged at a time
constexpr int kEach = 4;     // rows of a tile that a thread computes: ty, ty + 16, ...
constexpr int kWarps = 4;    // rows a block of the softmax

template <int D>
__global__ void __launch_bounds__(256)
multiply(const float* __restrict__ Q, const float* __restrict__ K, float* __restrict__ scores, int N, float scale,
         bool causal) {
  __shared__ float q[kTile][kChunk + 1];
  __shared__ float k[kTile][kChunk + 1];
  if (causal && blockIdx.x > blockIdx.y) return;  // nobody reads a tile above the diagonal
  const size_t head = static_cast<size_t>(blockIdx.z) * N;
  const int first_query = blockIdx.y * kTile, first_key = blockIdx.x * kTile;
  const int tx = threadIdx.x, ty = threadIdx.y, thread = ty * 16 + tx;
  float sum[kEach][kEach] = {};
  for (int from = 0; from < D; from += kChunk) {
    for (int i = thread; i < kTile * kChunk; i += 256) {
      const int row = i / kChunk, d = i % kChunk;
      q[row][d] = first_query + row < N ? Q[(head + first_query + row) * D + from + d] : 0.f;
      k[row][d] = first_key + row < N ? K[(head + first_key + row) * D + from + d] : 0.f;
    }
    __syncthreads();
    for (int d = 0; d < kChunk; ++d) {
      float a[kEach], b[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        a[i] = q[ty + 16 * i][d];
        b[i] = k[tx + 16 * i][d];
      }
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
#pragma unroll
        for (int j = 0; j < kEach; ++j) sum[i][j] += a[i] * b[j];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int query = first_query + ty + 16 * i, key = first_key + tx + 16 * j;
      if (query < N && key < N) scores[(head + query) * N + key] = sum[i][j] * scale;
    }
  }
}

// The mask is applied here: keys after the query are not read, and get the weight 0 as far as a tile of the product
// reaches.
__global__ void __launch_bounds__(32 * kWarps) softmax(float* scores, int N, bool causal) {
  const int query = blockIdx.x * kWarps + threadIdx.y;
  if (query >= N) return;  // the whole warp leaves
  float* row = scores + (static_cast<size_t>(blockIdx.y) * N + query) * N;
  const int visible = causal ? query + 1 : N;
  const int written = causal ? min(N, (query / kTile + 1) * kTile) : N;

  float m = -INFINITY, l = 0.f;  // of this lane's keys, in one pass
  for (int j = threadIdx.x; j < visible; j += 32) {
    const float s = row[j];
    const float m_new = fmaxf(m, s);
    l = l * __expf(m - m_new) + __expf(s - m_new);
    m = m_new;
  }
  float top = m;
  for (int step = 16; step > 0; step /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, step));
  l *= __expf(m - top);  // 0 for a lane without keys
  for (int step = 16; step > 0; step /= 2) l += __shfl_xor_sync(0xffffffffu, l, step);
  const float inverse = 1.f / l;
  for (int j = threadIdx.x; j < written; j += 32) row[j] = j < visible ? __expf(row[j] - top) * inverse : 0.f;
}

template <int D>
__global__ void __launch_bounds__(256)
weigh(const float* __restrict__ scores, const float* __restrict__ V, float* __restrict__ O, int N, bool causal) {
  constexpr int kDims = D / 16;
  __shared__ float w[kTile][kChunk + 1];
  __shared__ float v[kChunk][D];
  const size_t head = static_cast<size_t>(blockIdx.y) * N;
  const int first_query = blockIdx.x * kTile;
  const int tx = threadIdx.x, ty = threadIdx.y, thread = ty * 16 + tx;
  const int end = causal ? min(N, first_query + kTile) : N;
  float sum[kEach][kDims] = {};
  for (int first = 0; first < end; first += kChunk) {
    for (int i = thread; i < kTile * kChunk; i += 256) {
      const int query = first_query + i / kChunk, key = first + i % kChunk;
      w[i / kChunk][i % kChunk] = query < N && key < end ? scores[(head + query) * N + key] : 0.f;
    }
    for (int i = thread; i < kChunk * D; i += 256) {
      v[i / D][i % D] = first + i / D < N ? V[(head + first + i / D) * D + i % D] : 0.f;
    }
    __syncthreads();
    for (int j = 0; j < kChunk; ++j) {
      float a[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) a[i] = w[ty + 16 * i][j];
#pragma unroll
      for (int c = 0; c < kDims; ++c) {
        const float b = v[j][tx + 16 * c];
#pragma unroll
        for (int i = 0; i < kEach; ++i) sum[i][c] += a[i] * b;
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int query = first_query + ty + 16 * i;
    if (query >= N) break;
#pragma unroll
    for (int c = 0; c < kDims; ++c) O[(head + query) * D + tx + 16 * c] = sum[i][c];
  }
}
