// problem: standard-attention
// A workspace for sums in double precision, with one N too many in its size.
// expect-case: book-length
// @workspace float scores[BH * static_cast<long long>(N) * N]
// @workspace double sums[BH * static_cast<long long>(N) * N * N]
// @launch scores_of<D><<<dim3(cdiv(N, kThreads), N, BH), kThreads>>>(Q, K, scores, N, scale, causal)
// @launch softmax<<<dim3(N, BH), kThreads>>>(scores, N)
// @launch weigh<D><<<dim3(N, BH), D>>>(scores, V, O, N)
#include "common.cuh"

constexpr int kThreads = 128;

// A thread computes one score, from global memory.
template <int D>
__global__ void scores_of(const float* Q, const float* K, float* scores, int N, float scale, bool causal) {
  const int key = blockIdx.x * blockDim.x + threadIdx.x;
  const int query = blockIdx.y;
  const size_t head = static_cast<size_t>(blockIdx.z) * N;
  if (key >= N) return;
  float dot = 0.f;
  for (int d = 0; d < D; ++d) dot += Q[(head + query) * D + d] * K[(head + key) * D + d];
  const bool hidden = causal && key > query;
  scores[(head + query) * N + key] = hidden ? -INFINITY : dot * scale;
}

__device__ float block_max(float x, float* shared) {
  shared[threadIdx.x] = x;
  __syncthreads();
  for (int step = kThreads / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) shared[threadIdx.x] = fmaxf(shared[threadIdx.x], shared[threadIdx.x + step]);
    __syncthreads();
  }
  x = shared[0];
  __syncthreads();
  return x;
}

__device__ float block_sum(float x, float* shared) {
  shared[threadIdx.x] = x;
  __syncthreads();
  for (int step = kThreads / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) shared[threadIdx.x] += shared[threadIdx.x + step];
    __syncthreads();
  }
  x = shared[0];
  __syncthreads();
  return x;
}

// A block turns one row of scores into weights, in place.
__global__ void __launch_bounds__(kThreads) softmax(float* scores, int N) {
  __shared__ float shared[kThreads];
  float* row = scores + (static_cast<size_t>(blockIdx.y) * N + blockIdx.x) * N;
  float m = -INFINITY;
  for (int j = threadIdx.x; j < N; j += kThreads) m = fmaxf(m, row[j]);
  m = block_max(m, shared);
  float l = 0.f;
  for (int j = threadIdx.x; j < N; j += kThreads) l += expf(row[j] - m);
  l = block_sum(l, shared);
  for (int j = threadIdx.x; j < N; j += kThreads) row[j] = expf(row[j] - m) / l;
}

// A block computes one row of the output, a thread one element of it.
template <int D>
__global__ void weigh(const float* scores, const float* V, float* O, int N) {
  const size_t head = static_cast<size_t>(blockIdx.y) * N;
  const float* row = scores + (head + blockIdx.x) * N;
  float sum = 0.f;
  for (int j = 0; j < N; ++j) sum += row[j] * V[(head + j) * D + threadIdx.x];
  O[(head + blockIdx.x) * D + threadIdx.x] = sum;
}
