// Softmax of each row: one block of 128 threads a row, three passes; and the one-pass online form, a warp a row.
extern "C" __global__ void softmax_rows(const float* in, float* out, int columns) {
  __shared__ float scratch[128];
  const float* row = in + (size_t)blockIdx.x * columns;
  int t = threadIdx.x;
  float top = -__int_as_float(0x7f800000);
  for (int c = t; c < columns; c += 128) top = fmaxf(top, row[c]);
  scratch[t] = top;
  __syncthreads();
  for (int s = 64; s > 0; s /= 2) {
    if (t < s) scratch[t] = fmaxf(scratch[t], scratch[t + s]);
    __syncthreads();
  }
  top = scratch[0];
  __syncthreads();
  float sum = 0.0f;
  for (int c = t; c < columns; c += 128) sum += expf(row[c] - top);
  scratch[t] = sum;
  __syncthreads();
  for (int s = 64; s > 0; s /= 2) {
    if (t < s) scratch[t] += scratch[t + s];
    __syncthreads();
  }
  for (int c = t; c < columns; c += 128) out[(size_t)blockIdx.x * columns + c] = expf(row[c] - top) / scratch[0];
}

extern "C" __global__ void softmax_online(const float* in, float* out, int rows, int columns) {
  int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float m = -__int_as_float(0x7f800000), l = 0.0f;
  for (int c = lane; c < columns; c += 32) {
    float x = in[row * columns + c], next = fmaxf(m, x);
    l = l * __expf(m - next) + __expf(x - next);
    m = next;
  }
  for (int d = 16; d > 0; d /= 2) {
    float other_m = __shfl_xor_sync(0xffffffffu, m, d), other_l = __shfl_xor_sync(0xffffffffu, l, d);
    float next = fmaxf(m, other_m);
    if (next > -__int_as_float(0x7f800000)) l = l * __expf(m - next) + other_l * __expf(other_m - next);
    m = next;
  }
  for (int c = lane; c < columns; c += 32) out[row * columns + c] = __expf(in[row * columns + c] - m) / l;
}
