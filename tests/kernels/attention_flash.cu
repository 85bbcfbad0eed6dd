// Flash attention forward, one thread a query row, tiles of 32 keys in shared memory, head size 32.
constexpr int D = 32, BR = 32, BC = 32;

template <int HEAD>
__global__ void flash(const float* Q, const float* K, const float* V, float* O, int N, float scale, bool causal) {
  __shared__ float k_tile[BC][HEAD], v_tile[BC][HEAD];
  const size_t base = (size_t)blockIdx.y * N * HEAD;
  const int row = blockIdx.x * BR + threadIdx.x;
  float q[HEAD], o[HEAD], m = -__int_as_float(0x7f800000), l = 0.0f;
  for (int d = 0; d < HEAD; ++d) {
    q[d] = row < N ? Q[base + (size_t)row * HEAD + d] : 0.0f;
    o[d] = 0.0f;
  }
  for (int start = 0; start < N; start += BC) {
    for (int i = threadIdx.x; i < BC * HEAD; i += BR) {
      int key = start + i / HEAD;
      k_tile[i / HEAD][i % HEAD] = key < N ? K[base + (size_t)key * HEAD + i % HEAD] : 0.0f;
      v_tile[i / HEAD][i % HEAD] = key < N ? V[base + (size_t)key * HEAD + i % HEAD] : 0.0f;
    }
    __syncthreads();
    for (int j = 0; j < BC && start + j < N; ++j) {
      if (causal && start + j > row) break;
      float s = 0.0f;
      for (int d = 0; d < HEAD; ++d) s += q[d] * k_tile[j][d];
      s *= scale;
      float next = fmaxf(m, s), keep = __expf(m - next), p = __expf(s - next);
      l = l * keep + p;
      for (int d = 0; d < HEAD; ++d) o[d] = o[d] * keep + p * v_tile[j][d];
      m = next;
    }
    __syncthreads();
  }
  if (row < N)
    for (int d = 0; d < HEAD; ++d) O[base + (size_t)row * HEAD + d] = o[d] / l;
}
template __global__ void flash<D>(const float*, const float*, const float*, float*, int, float, bool);
