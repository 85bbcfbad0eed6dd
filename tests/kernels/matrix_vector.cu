// Matrix-vector products: a thread a row, and a warp a row with float4 loads.
extern "C" __global__ void gemv_thread(const float* matrix, const float* vector, float* out, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int c = 0; c < columns; ++c) sum = fmaf(matrix[(size_t)row * columns + c], vector[c], sum);
  out[row] = sum;
}

extern "C" __global__ void gemv_warp(const float4* __restrict__ matrix, const float4* __restrict__ vector, float* __restrict__ out, int rows, int quads) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int c = lane; c < quads; c += 32) {
    float4 m = matrix[(size_t)row * quads + c], v = vector[c];
    sum += m.x * v.x + m.y * v.y + m.z * v.z + m.w * v.w;
  }
  for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
  if (lane == 0) out[row] = sum;
}
