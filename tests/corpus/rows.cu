// Softmax and the norms of rows.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void softmax_naive(const float* x, float* out, int rows, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float largest = -INFINITY, sum = 0.0f;
  for (int c = 0; c < columns; ++c) largest = fmaxf(largest, x[r * columns + c]);
  for (int c = 0; c < columns; ++c) sum += expf(x[r * columns + c] - largest);
  for (int c = 0; c < columns; ++c) out[r * columns + c] = expf(x[r * columns + c] - largest) / sum;
}

template <typename F>
__device__ float reduce_block(float v, F combine, float neutral) {
  __shared__ float warps[32];
  __syncthreads();
  for (int d = 16; d > 0; d /= 2) v = combine(v, __shfl_xor_sync(~0u, v, d));
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  v = threadIdx.x % 32 < blockDim.x / 32 ? warps[threadIdx.x % 32] : neutral;
  for (int d = 16; d > 0; d /= 2) v = combine(v, __shfl_xor_sync(~0u, v, d));
  return v;
}

extern "C" __global__ void softmax_block(const float* x, float* out, int columns) {
  extern __shared__ float row[];
  const float* in = x + (size_t)blockIdx.x * columns;
  float largest = -INFINITY, sum = 0.0f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) row[c] = in[c], largest = fmaxf(largest, row[c]);
  largest = reduce_block(largest, [](float a, float b) { return fmaxf(a, b); }, -INFINITY);
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += row[c] = __expf(row[c] - largest);
  sum = reduce_block(sum, [](float a, float b) { return a + b; }, 0.0f);
  float scale = 1.0f / sum;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) out[(size_t)blockIdx.x * columns + c] = row[c] * scale;
}

// Maximum and sum in one pass; a warp a row, several rows a block.
extern "C" __global__ void softmax_online(const float* x, float* out, int rows, int columns) {
  int r = blockIdx.x * blockDim.y + threadIdx.y;
  if (r >= rows) return;
  float m = -INFINITY, s = 0.0f;
  for (int c = threadIdx.x; c < columns; c += 32) {
    float v = x[r * columns + c], bigger = fmaxf(m, v);
    s = s * __expf(m - bigger) + __expf(v - bigger);
    m = bigger;
  }
  for (int d = 16; d > 0; d /= 2) {
    float om = __shfl_xor_sync(~0u, m, d), os = __shfl_xor_sync(~0u, s, d), bigger = fmaxf(m, om);
    s = (m == -INFINITY ? 0.0f : s * __expf(m - bigger)) + (om == -INFINITY ? 0.0f : os * __expf(om - bigger));
    m = bigger;
  }
  for (int c = threadIdx.x; c < columns; c += 32) out[r * columns + c] = __expf(x[r * columns + c] - m) / s;
}

extern "C" __global__ void log_softmax_half(const __half* x, __half* out, int columns) {
  const __half* in = x + blockIdx.x * columns;
  float largest = -INFINITY, sum = 0.0f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) largest = fmaxf(largest, __half2float(in[c]));
  largest = reduce_block(largest, [](float a, float b) { return fmaxf(a, b); }, -INFINITY);
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += __expf(__half2float(in[c]) - largest);
  sum = reduce_block(sum, [](float a, float b) { return a + b; }, 0.0f);
  float offset = largest + __logf(sum);
  for (int c = threadIdx.x; c < columns; c += blockDim.x)
    out[blockIdx.x * columns + c] = __float2half(__half2float(in[c]) - offset);
}

extern "C" __global__ void layer_norm_rows(const float* x, const float* gain, const float* bias, float* out, int columns) {
  const float* in = x + blockIdx.x * columns;
  float sum = 0.0f, square = 0.0f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += in[c];
  float mean = reduce_block(sum, [](float a, float b) { return a + b; }, 0.0f) / columns;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) square += (in[c] - mean) * (in[c] - mean);
  float variance = reduce_block(square, [](float a, float b) { return a + b; }, 0.0f) / columns;
  float scale = rsqrtf(variance + 1e-5f);
  for (int c = threadIdx.x; c < columns; c += blockDim.x)
    out[blockIdx.x * columns + c] = (in[c] - mean) * scale * gain[c] + bias[c];
}

extern "C" __global__ void rms_norm_bf16(const __nv_bfloat162* x, const __nv_bfloat162* gain, __nv_bfloat162* out, int pairs) {
  float square = 0.0f;
  for (int c = threadIdx.x; c < pairs; c += blockDim.x) {
    float2 v = __bfloat1622float2(x[blockIdx.x * pairs + c]);
    square += v.x * v.x + v.y * v.y;
  }
  float scale = rsqrtf(reduce_block(square, [](float a, float b) { return a + b; }, 0.0f) / (2 * pairs) + 1e-6f);
  for (int c = threadIdx.x; c < pairs; c += blockDim.x) {
    float2 v = __bfloat1622float2(x[blockIdx.x * pairs + c]), g = __bfloat1622float2(gain[c]);
    out[blockIdx.x * pairs + c] = __floats2bfloat162_rn(v.x * scale * g.x, v.y * scale * g.y);
  }
}

// y = norm(x + residual); the sum replaces the residual.
extern "C" __global__ void add_rms_norm(const float4* x, float4* residual, const float4* gain, float4* out, int quads) {
  extern __shared__ float4 line[];
  float square = 0.0f;
  for (int c = threadIdx.x; c < quads; c += blockDim.x) {
    float4 a = x[blockIdx.x * quads + c], b = residual[blockIdx.x * quads + c];
    float4 s = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    line[c] = residual[blockIdx.x * quads + c] = s;
    square += s.x * s.x + s.y * s.y + s.z * s.z + s.w * s.w;
  }
  float scale = rsqrtf(reduce_block(square, [](float a, float b) { return a + b; }, 0.0f) / (4 * quads) + 1e-6f);
  for (int c = threadIdx.x; c < quads; c += blockDim.x) {
    float4 s = line[c], g = gain[c];
    out[blockIdx.x * quads + c] = make_float4(s.x * scale * g.x, s.y * scale * g.y, s.z * scale * g.z, s.w * scale * g.w);
  }
}

extern "C" __global__ void group_norm(const float* x, float* out, int channels, int groups, int pixels) {
  int per = channels / groups, count = per * pixels;
  const float* in = x + (size_t)blockIdx.x * count;
  float sum = 0.0f, square = 0.0f;
  for (int i = threadIdx.x; i < count; i += blockDim.x) sum += in[i], square += in[i] * in[i];
  float mean = reduce_block(sum, [](float a, float b) { return a + b; }, 0.0f) / count;
  float mean_square = reduce_block(square, [](float a, float b) { return a + b; }, 0.0f) / count;
  float scale = rsqrtf(mean_square - mean * mean + 1e-5f);
  for (int i = threadIdx.x; i < count; i += blockDim.x) out[(size_t)blockIdx.x * count + i] = (in[i] - mean) * scale;
}
