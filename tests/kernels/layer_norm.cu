// Layer and RMS normalization of rows, a warp a row.
extern "C" __global__ void layer_norm(const float* x, const float* weight, const float* bias, float* out, int columns, float epsilon) {
  const float* row = x + blockIdx.x * columns;
  float sum = 0.0f, squares = 0.0f;
  for (int c = threadIdx.x; c < columns; c += 32) {
    sum += row[c];
    squares += row[c] * row[c];
  }
  for (int d = 16; d; d >>= 1) {
    sum += __shfl_xor_sync(~0u, sum, d);
    squares += __shfl_xor_sync(~0u, squares, d);
  }
  float mean = sum / columns, scale = rsqrtf(squares / columns - mean * mean + epsilon);
  for (int c = threadIdx.x; c < columns; c += 32) out[blockIdx.x * columns + c] = (row[c] - mean) * scale * weight[c] + bias[c];
}

extern "C" __global__ void rms_norm(const float* __restrict__ x, float* __restrict__ out, int columns) {
  float squares = 0.0f;
  for (int c = threadIdx.x; c < columns; c += 32) squares = fmaf(x[blockIdx.x * columns + c], x[blockIdx.x * columns + c], squares);
  for (int d = 16; d; d >>= 1) squares += __shfl_xor_sync(~0u, squares, d);
  float scale = 1.0f / sqrtf(squares / columns + 1e-6f);
  for (int c = threadIdx.x; c < columns; c += 32) out[blockIdx.x * columns + c] = x[blockIdx.x * columns + c] * scale;
}
