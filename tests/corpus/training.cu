// Backward passes, losses and optimizers.
template <int N>
__device__ void sum_warp(float (&v)[N]) {
#pragma unroll
  for (int d = 16; d > 0; d /= 2)
#pragma unroll
    for (int k = 0; k < N; ++k) v[k] += __shfl_xor_sync(~0u, v[k], d);
}

// dx = p (dy - sum p dy), a warp a row.
extern "C" __global__ void softmax_backward(const float* p, const float* dy, float* dx, int columns) {
  int row = blockIdx.x * columns;
  float sum[1] = {};
  for (int c = threadIdx.x; c < columns; c += 32) sum[0] += p[row + c] * dy[row + c];
  sum_warp(sum);
  for (int c = threadIdx.x; c < columns; c += 32) dx[row + c] = p[row + c] * (dy[row + c] - sum[0]);
}

// Rows a warp; the gain's gradient collects in shared memory, then in global.
extern "C" __global__ void rms_norm_backward(const float* x, const float* gain, const float* dy, float* dx, float* dgain, int rows, int columns) {
  extern __shared__ float collected[];
  for (int c = threadIdx.x; c < columns; c += blockDim.x) collected[c] = 0.0f;
  __syncthreads();
  int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (row < rows) {
    x += row * columns, dy += row * columns, dx += row * columns;
    float sum[2] = {};
    for (int c = lane; c < columns; c += 32) sum[0] += x[c] * x[c], sum[1] += dy[c] * gain[c] * x[c];
    sum_warp(sum);
    float scale = rsqrtf(sum[0] / columns + 1e-6f), pull = sum[1] * scale * scale / columns;
    for (int c = lane; c < columns; c += 32) {
      dx[c] = scale * (dy[c] * gain[c] - x[c] * pull);
      atomicAdd(collected + c, dy[c] * x[c] * scale);
    }
  }
  __syncthreads();
  for (int c = threadIdx.x; c < columns; c += blockDim.x) atomicAdd(dgain + c, collected[c]);
}

extern "C" __global__ void layer_norm_backward(const float* x, const float* gain, const float* dy, float* dx, int columns) {
  __shared__ float parts[4][4];
  int row = blockIdx.x * columns, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float sum[4] = {};
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    float v = x[row + c], g = dy[row + c] * gain[c];
    sum[0] += v, sum[1] += v * v, sum[2] += g, sum[3] += g * v;
  }
  sum_warp(sum);
  if (lane < 4) {
    float own = sum[0];
#pragma unroll
    for (int k = 1; k < 4; ++k) own = lane == k ? sum[k] : own;
    parts[warp][lane] = own;
  }
  __syncthreads();
  float mean = 0, square = 0, g_mean = 0, gv_mean = 0;
  for (int w = 0; w < 4; ++w) mean += parts[w][0], square += parts[w][1], g_mean += parts[w][2], gv_mean += parts[w][3];
  mean /= columns, square /= columns, g_mean /= columns, gv_mean /= columns;
  float scale = rsqrtf(square - mean * mean + 1e-5f), slope = (gv_mean - mean * g_mean) * scale;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    float unit = (x[row + c] - mean) * scale;
    dx[row + c] = scale * (dy[row + c] * gain[c] - g_mean - unit * slope);
  }
}

// A column a thread, rows shared out over y: what a bias gets.
extern "C" __global__ void column_sums(const float* dy, float* bias, int rows, int columns) {
  __shared__ float tile[8][33];
  int c = blockIdx.x * 32 + threadIdx.x;
  float sum = 0.0f;
  if (c < columns)
    for (int r = threadIdx.y; r < rows; r += 8) sum += dy[r * columns + c];
  tile[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y || c >= columns) return;
  for (int k = 1; k < 8; ++k) sum += tile[k][threadIdx.x];
  bias[c] = sum;
}

// Loss and gradient in one kernel; label -100 is left out.
extern "C" __global__ void cross_entropy(const float* logits, const long long* labels, float* loss, float* d, int classes, float smoothing) {
  const float* row = logits + blockIdx.x * classes;
  long long label = labels[blockIdx.x];
  d += blockIdx.x * classes;
  if (label == -100) {
    for (int c = threadIdx.x; c < classes; c += 32) d[c] = 0.0f;
    if (threadIdx.x == 0) loss[blockIdx.x] = 0.0f;
    return;
  }
  float largest = -INFINITY, sums[2] = {};
  for (int c = threadIdx.x; c < classes; c += 32) largest = fmaxf(largest, row[c]);
  for (int s = 16; s > 0; s /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, s));
  for (int c = threadIdx.x; c < classes; c += 32) sums[0] += expf(row[c] - largest), sums[1] += row[c];
  sum_warp(sums);
  float norm = largest + logf(sums[0]);
  for (int c = threadIdx.x; c < classes; c += 32)
    d[c] = expf(row[c] - norm) - smoothing / classes - (c == label ? 1.0f - smoothing : 0.0f);
  if (threadIdx.x == 0) loss[blockIdx.x] = norm - (1.0f - smoothing) * row[label] - smoothing * sums[1] / classes;
}

__device__ __forceinline__ float sigmoid(float v) { return 1.0f / (1.0f + __expf(-v)); }

// out = silu(gate) up; both gradients.
extern "C" __global__ void swiglu_backward(const float2* gate, const float2* up, const float2* dy, float2* dgate, float2* dup, int pairs) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pairs; i += gridDim.x * blockDim.x) {
    float2 g = gate[i], u = up[i], d = dy[i];
    float sx = sigmoid(g.x), sy = sigmoid(g.y);
    dup[i] = make_float2(d.x * g.x * sx, d.y * g.y * sy);
    dgate[i] = make_float2(d.x * u.x * sx * (1 + g.x * (1 - sx)), d.y * u.y * sy * (1 + g.y * (1 - sy)));
  }
}

extern "C" __global__ void embedding_backward(const int* tokens, const float* dy, float* dtable, int width) {
  int token = tokens[blockIdx.x];
  if (token < 0) return;
  for (int c = threadIdx.x; c < width; c += blockDim.x) atomicAdd(dtable + token * width + c, dy[blockIdx.x * width + c]);
}

// dQ: a warp a query; what softmax subtracts comes from out and its gradient.
extern "C" __global__ void attention_backward_q(const float* q, const float* k, const float* v, const float* out, const float* dout, const float* norm, float* dq, int n) {
  int i = blockIdx.x, lane = threadIdx.x;
  float query = q[i * 32 + lane], go = dout[i * 32 + lane], drop[1] = {go * out[i * 32 + lane]}, sum = 0.0f;
  sum_warp(drop);
  for (int j = 0; j <= i; ++j) {
    float both[2] = {query * k[j * 32 + lane], go * v[j * 32 + lane]};
    sum_warp(both);
    float p = __expf(both[0] * 0.17677669f - norm[i]);
    sum += p * (both[1] - drop[0]) * 0.17677669f * k[j * 32 + lane];
  }
  dq[i * 32 + lane] = sum;
}

// dK and dV: a block a key, its warps share the queries and add up in shared memory.
extern "C" __global__ void attention_backward_kv(const float* q, const float* k, const float* v, const float* out, const float* dout, const float* norm, float* dk, float* dv, int n) {
  __shared__ float sums[2][32];
  int j = blockIdx.x, lane = threadIdx.x, warp = threadIdx.y;
  if (warp < 2) sums[warp][lane] = 0.0f;
  __syncthreads();
  float key = k[j * 32 + lane], value = v[j * 32 + lane], own_k = 0.0f, own_v = 0.0f;
  for (int i = j + warp; i < n; i += blockDim.y) {
    float go = dout[i * 32 + lane], query = q[i * 32 + lane];
    float parts[3] = {query * key, go * value, go * out[i * 32 + lane]};
    sum_warp(parts);
    float p = __expf(parts[0] * 0.17677669f - norm[i]);
    own_v += p * go;
    own_k += p * (parts[1] - parts[2]) * 0.17677669f * query;
  }
  atomicAdd(&sums[0][lane], own_k), atomicAdd(&sums[1][lane], own_v);
  __syncthreads();
  if (warp == 0) dk[j * 32 + lane] = sums[0][lane];
  if (warp == 1) dv[j * 32 + lane] = sums[1][lane];
}

struct Adam { float rate, beta1, beta2, epsilon, decay; int step; };

extern "C" __global__ void adamw_step(float* w, const float* g, float* m, float* v, int n, const __grid_constant__ Adam adam) {
  float fix1 = 1.0f - powf(adam.beta1, adam.step), fix2 = 1.0f - powf(adam.beta2, adam.step);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    m[i] = __fmaf_rn(adam.beta1, m[i] - g[i], g[i]);
    v[i] = __fmaf_rn(adam.beta2, v[i] - g[i] * g[i], g[i] * g[i]);
    w[i] -= adam.rate * ((m[i] / fix1) / (sqrtf(v[i] / fix2) + adam.epsilon) + adam.decay * w[i]);
  }
}

// Two launches: squares of tensors that lie one after another, then the scaling of all.
extern "C" __global__ void norm_of_tensors(const float* x, const int* starts, double* norms, double* total) {
  float sum[1] = {};
  for (int i = starts[blockIdx.x] + threadIdx.x; i < starts[blockIdx.x + 1]; i += blockDim.x) sum[0] += x[i] * x[i];
  sum_warp(sum);
  if (threadIdx.x % 32) return;
  atomicAdd(norms + blockIdx.x, (double)sum[0]);
  atomicAdd(total, (double)sum[0]);
}

extern "C" __global__ void clip_to_norm(float* x, int n, const double* total, float limit) {
  float norm = (float)sqrt(*total), scale = norm > limit ? __fdividef(limit, norm) : 1.0f;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= scale;
}

// Philox 4x32-10: four random words a counter; the same numbers forwards and backwards.
extern "C" __global__ void dropout_philox(const float4* x, float4* out, int quads, float keep, uint2 seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= quads) return;
  uint4 c = make_uint4(i, 0, 0, 0);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    unsigned high0 = __umulhi(0xD2511F53u, c.x), high1 = __umulhi(0xCD9E8D57u, c.z);
    c = make_uint4(high1 ^ c.y ^ seed.x, 0xCD9E8D57u * c.z, high0 ^ c.w ^ seed.y, 0xD2511F53u * c.x);
    seed.x += 0x9E3779B9u, seed.y += 0xBB67AE85u;
  }
  float4 v = x[i];
  const float unit = 2.3283064e-10f;
  out[i] = make_float4(c.x * unit < keep ? v.x / keep : 0, c.y * unit < keep ? v.y / keep : 0,
                       c.z * unit < keep ? v.z / keep : 0, c.w * unit < keep ? v.w / keep : 0);
}
