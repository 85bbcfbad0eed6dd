// C[M, N] = A[M, K] B[K, N], 16 x 16 tiles in shared memory; the plain triple loop beside it.
constexpr int TILE = 16;

extern "C" __global__ void matmul_tiled(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float as[TILE][TILE], bs[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int start = 0; start < k; start += TILE) {
    as[threadIdx.y][threadIdx.x] = row < m && start + threadIdx.x < k ? a[row * k + start + threadIdx.x] : 0.0f;
    bs[threadIdx.y][threadIdx.x] = col < n && start + threadIdx.y < k ? b[(start + threadIdx.y) * n + col] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

extern "C" __global__ void matmul_plain(const double* a, const double* b, double* c, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n) return;
  double sum = 0.0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
  c[row * n + col] = sum;
}
