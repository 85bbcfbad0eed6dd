// problem: standard-attention
// The formula as it stands: scores, softmax in place, times V; every operand from global memory. It shows the three
// steps alone, and what operands cost that come from far away.
// Measured: H200, 2048-128: 37.0 ms, 0.93 TFLOP/s, 1.5% of the roof; 4096-64: 19.0 ms, 0.91 TFLOP/s, 1.5%;
// 4096-64-causal: 19.0 ms, 0.45 TFLOP/s, 0.7%.
// @workspace float scores[BH * static_cast<long long>(N) * N]
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
