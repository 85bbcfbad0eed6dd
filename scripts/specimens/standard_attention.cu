// problem: flash-forward
// Attention as the formula has it, in three launches with the whole score matrix in memory: softmax(Q K^T) V.
// @workspace float scores[BH * N * N]
// @launch multiply<D><<<dim3((N + kTile - 1) / kTile, (N + kTile - 1) / kTile, BH), dim3(kTile, kTile)>>>(Q, K, scores, N, scale, causal)
// @launch softmax<<<dim3(N, BH), 32>>>(scores, N)
// @launch weigh<D><<<dim3((N + kTile - 1) / kTile, BH), dim3(D, kTile)>>>(scores, V, O, N)
#include "common.cuh"

constexpr int kTile = 16;  // queries and keys of a block
constexpr int kPad = 1;    // floats between two rows of a tile

template <int D>
__global__ void multiply(const float* Q, const float* K, float* scores, int N, float scale, bool causal) {
  __shared__ float q[kTile][D + kPad];
  __shared__ float k[kTile][D + kPad];
  const size_t head = static_cast<size_t>(blockIdx.z) * N;
  const int thread = threadIdx.y * kTile + threadIdx.x;
  const int first_query = blockIdx.y * kTile, first_key = blockIdx.x * kTile;
  for (int i = thread; i < kTile * D; i += kTile * kTile) {
    const int row = i / D, d = i % D;
    q[row][d] = first_query + row < N ? Q[(head + first_query + row) * D + d] : 0.f;
    k[row][d] = first_key + row < N ? K[(head + first_key + row) * D + d] : 0.f;
  }
  __syncthreads();
  const int query = first_query + threadIdx.y, key = first_key + threadIdx.x;
  float dot = 0.f;
  for (int d = 0; d < D; ++d) dot += q[threadIdx.y][d] * k[threadIdx.x][d];
  if (query < N && key < N) scores[(head + query) * N + key] = causal && key > query ? -INFINITY : dot * scale;
}

__global__ void softmax(float* scores, int N) {
  float* row = scores + (static_cast<size_t>(blockIdx.y) * N + blockIdx.x) * N;
  float m = -INFINITY;
  for (int j = threadIdx.x; j < N; j += 32) m = fmaxf(m, row[j]);
  for (int step = 16; step > 0; step /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, step));
  float sum = 0.f;
  for (int j = threadIdx.x; j < N; j += 32) sum += __expf(row[j] - m);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  for (int j = threadIdx.x; j < N; j += 32) row[j] = __expf(row[j] - m) / sum;
}

template <int D>
__global__ void weigh(const float* scores, const float* V, float* O, int N) {
  __shared__ float w[kTile][kTile];
  __shared__ float v[kTile][D];
  const size_t head = static_cast<size_t>(blockIdx.y) * N;
  const int x = threadIdx.x, y = threadIdx.y;
  const int query = blockIdx.x * kTile + y;
  float sum = 0.f;
  for (int first = 0; first < N; first += kTile) {
    if (x < kTile) w[y][x] = query < N && first + x < N ? scores[(head + query) * N + first + x] : 0.f;
    v[y][x] = first + y < N ? V[(head + first + y) * D + x] : 0.f;
    __syncthreads();
    for (int j = 0; j < kTile; ++j) sum += w[y][j] * v[j][x];
    __syncthreads();
  }
  if (query < N) O[(head + query) * D + x] = sum;
}
