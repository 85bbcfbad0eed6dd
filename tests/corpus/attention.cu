// Attention of several kinds, in float.
#include <cfloat>

// One thread a query, two passes over the scores.
extern "C" __global__ void attention_naive(const float* q, const float* k, const float* v, float* out, int n, int d) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float scale = rsqrtf((float)d), largest = -FLT_MAX, sum = 0.0f;
  for (int j = 0; j < n; ++j) {
    float s = 0.0f;
    for (int c = 0; c < d; ++c) s += q[i * d + c] * k[j * d + c];
    largest = fmaxf(largest, s * scale);
  }
  for (int c = 0; c < d; ++c) out[i * d + c] = 0.0f;
  for (int j = 0; j < n; ++j) {
    float s = 0.0f;
    for (int c = 0; c < d; ++c) s += q[i * d + c] * k[j * d + c];
    float p = expf(s * scale - largest);
    sum += p;
    for (int c = 0; c < d; ++c) out[i * d + c] += p * v[j * d + c];
  }
  for (int c = 0; c < d; ++c) out[i * d + c] /= sum;
}

// A warp a query, causal, with a window of the last `window` keys.
extern "C" __global__ void attention_window(const float* q, const float* k, const float* v, float* out, int n, int window) {
  int i = blockIdx.x, lane = threadIdx.x;
  float2 query = ((const float2*)q)[i * 32 + lane], sum = make_float2(0, 0);
  float m = -INFINITY, l = 0.0f;
  for (int j = max(0, i - window + 1); j <= i; ++j) {
    float2 key = ((const float2*)k)[j * 32 + lane];
    float s = query.x * key.x + query.y * key.y;
    for (int d = 16; d > 0; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
    s *= 0.125f;
    float bigger = fmaxf(m, s), keep = __expf(m - bigger), p = __expf(s - bigger);
    float2 value = ((const float2*)v)[j * 32 + lane];
    sum.x = sum.x * keep + p * value.x;
    sum.y = sum.y * keep + p * value.y;
    l = l * keep + p;
    m = bigger;
  }
  ((float2*)out)[i * 32 + lane] = make_float2(sum.x / l, sum.y / l);
}

// 32 queries a block, keys and values in tiles of 32; any n.
template <int D>
__device__ void attention_tile(const float* q, const float* k, const float* v, float* out, int n, float slope) {
  __shared__ float ks[32][D + 1], vs[32][D], ps[32][33];
  int t = threadIdx.x, row = t / 4, part = t % 4, i = blockIdx.x * 32 + row;
  size_t head = (size_t)blockIdx.y * n * D;
  float query[D], sum[D / 4] = {}, m = -INFINITY, l = 0.0f;
  for (int c = 0; c < D; ++c) query[c] = i < n ? q[head + i * D + c] : 0.0f;
  for (int start = 0; start < n; start += 32) {
    for (int e = t; e < 32 * D; e += blockDim.x) {
      bool inside = start + e / D < n;
      ks[e / D][e % D] = inside ? k[head + (start + e / D) * D + e % D] : 0.0f;
      vs[e / D][e % D] = inside ? v[head + (start + e / D) * D + e % D] : 0.0f;
    }
    __syncthreads();
    float biggest = m;
    for (int j = part; j < 32; j += 4) {
      float s = 0.0f;
      for (int c = 0; c < D; ++c) s += query[c] * ks[j][c];
      s = start + j < n ? s * rsqrtf((float)D) - slope * abs(i - start - j) : -INFINITY;
      ps[row][j] = s;
      biggest = fmaxf(biggest, s);
    }
    biggest = fmaxf(biggest, __shfl_xor_sync(~0u, biggest, 1));
    biggest = fmaxf(biggest, __shfl_xor_sync(~0u, biggest, 2));
    float keep = __expf(m - biggest), add = 0.0f;
    for (int j = part; j < 32; j += 4) add += ps[row][j] = __expf(ps[row][j] - biggest);
    add += __shfl_xor_sync(~0u, add, 1);
    add += __shfl_xor_sync(~0u, add, 2);
    __syncwarp();
    for (int c = 0; c < D / 4; ++c) sum[c] *= keep;
    for (int j = 0; j < 32; ++j)
      for (int c = 0; c < D / 4; ++c) sum[c] += ps[row][j] * vs[j][c * 4 + part];
    m = biggest;
    l = l * keep + add;
    __syncthreads();
  }
  if (i < n)
    for (int c = 0; c < D / 4; ++c) out[head + i * D + c * 4 + part] = sum[c] / l;
}

extern "C" __global__ void attention_flash(const float* q, const float* k, const float* v, float* out, int n) {
  attention_tile<32>(q, k, v, out, n, 0.0f);
}

extern "C" __global__ void attention_alibi(const float* q, const float* k, const float* v, float* out, int n) {
  attention_tile<32>(q, k, v, out, n, exp2f(-(float)(blockIdx.y + 1)));
}

// One new token, grouped heads: a block a split of the context, then a merge.
extern "C" __global__ void decode_split(const float* q, const float* k, const float* v, float* partial, int n, int splits, int group) {
  __shared__ float scores[128];
  __shared__ float best, total;
  int head = blockIdx.x, split = blockIdx.y, t = threadIdx.x;
  int length = (n + splits - 1) / splits, from = split * length, to = min(n, from + length);
  const float* keys = k + (size_t)(head / group) * n * 64;
  const float* values = v + (size_t)(head / group) * n * 64;
  for (int j = from + t; j < to; j += blockDim.x) {
    float s = 0.0f;
    for (int c = 0; c < 64; ++c) s += q[head * 64 + c] * keys[j * 64 + c];
    scores[j - from] = s * 0.125f;
  }
  __syncthreads();
  if (t == 0) {
    best = -INFINITY, total = 0.0f;
    for (int j = from; j < to; ++j) best = fmaxf(best, scores[j - from]);
    for (int j = from; j < to; ++j) total += scores[j - from] = __expf(scores[j - from] - best);
  }
  __syncthreads();
  float sum = 0.0f;
  for (int j = from; j < to; ++j) sum += scores[j - from] * values[j * 64 + t];
  float* row = partial + (head * splits + split) * 66;
  row[t] = sum;
  if (t == 0) row[64] = best, row[65] = total;
}

extern "C" __global__ void decode_merge(const float* partial, float* out, int splits) {
  int head = blockIdx.x, t = threadIdx.x;
  float m = -INFINITY, l = 0.0f, sum = 0.0f;
  for (int s = 0; s < splits; ++s) {
    const float* row = partial + (head * splits + s) * 66;
    float bigger = fmaxf(m, row[64]), keep = __expf(m - bigger), p = __expf(row[64] - bigger);
    sum = sum * keep + row[t] * p;
    l = l * keep + row[65] * p;
    m = bigger;
  }
  out[head * 64 + t] = sum / l;
}

// Causal linear attention with features 1 + elu: the state is a D x D matrix in shared memory.
extern "C" __global__ void attention_linear(const float* q, const float* k, const float* v, float* out, int n) {
  __shared__ float state[32][33], norm[32], fq[32], fk[32];
  int t = threadIdx.x;
  for (int c = 0; c < 32; ++c) state[c][t] = 0.0f;
  norm[t] = 0.0f;
  for (int i = 0; i < n; ++i) {
    float a = q[i * 32 + t], b = k[i * 32 + t], value = v[i * 32 + t];
    __syncwarp();
    fq[t] = a > 0 ? a + 1 : expf(a);
    fk[t] = b > 0 ? b + 1 : expf(b);
    norm[t] += fk[t];
    __syncwarp();
    float sum = 0.0f, z = 0.0f;
    for (int c = 0; c < 32; ++c) {
      state[c][t] += fk[c] * value;
      sum += fq[c] * state[c][t];
      z += fq[c] * norm[c];
    }
    out[i * 32 + t] = sum / z;
  }
}
