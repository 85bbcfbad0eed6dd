// Sums, extrema and moments: from one atomic a thread to a single pass over the grid.
#include <cfloat>

extern "C" __global__ void sum_atomic(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(out, x[i]);
}

extern "C" __global__ void sum_tree(const float* x, float* partial, int n) {
  extern __shared__ float cache[];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t;
  float v = i < n ? x[i] : 0.0f;
  if (i + blockDim.x < n) v += x[i + blockDim.x];
  cache[t] = v;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half >>= 1) {
    if (t < half) cache[t] += cache[t + half];
    __syncthreads();
  }
  if (t == 0) partial[blockIdx.x] = cache[0];
}

__device__ __forceinline__ float warp_sum(float v) {
  for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
  return v;
}

__device__ float block_sum(float v) {
  __shared__ float warps[32];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  v = warp_sum(v);
  if (lane == 0) warps[warp] = v;
  __syncthreads();
  v = threadIdx.x < (blockDim.x + 31) / 32 ? warps[lane] : 0.0f;
  if (warp == 0) v = warp_sum(v);
  return v;
}

__device__ unsigned finished = 0;

// The block that is last to finish adds up what the others left.
extern "C" __global__ void sum_last_block(const float* x, float* partial, float* out, int n) {
  float v = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  v = block_sum(v);
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = v;
    __threadfence();
    last = atomicAdd(&finished, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  float total = threadIdx.x < gridDim.x ? ((volatile float*)partial)[threadIdx.x] : 0.0f;
  total = block_sum(total);
  if (threadIdx.x == 0) *out = total;
}

extern "C" __global__ void dot_vectorized(const float4* a, const float4* b, float* out, int quads) {
  float v = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += gridDim.x * blockDim.x) {
    float4 p = a[i], q = b[i];
    v += p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
  }
  v = block_sum(v);
  if (threadIdx.x == 0) atomicAdd(out, v);
}

extern "C" __global__ void max_abs(const float* x, int* out, int n) {
  float best = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) best = fmaxf(best, fabsf(x[i]));
  for (int d = 16; d > 0; d >>= 1) best = fmaxf(best, __shfl_down_sync(~0u, best, d));
  if ((threadIdx.x & 31) == 0) atomicMax(out, __float_as_int(best));
}

struct Moments { float n, mean, m2; };

__device__ Moments combine(Moments a, Moments b) {
  float n = a.n + b.n;
  if (n == 0.0f) return a;
  float delta = b.mean - a.mean;
  return {n, a.mean + delta * b.n / n, a.m2 + b.m2 + delta * delta * a.n * b.n / n};
}

// Welford's moments of each row, one warp a row.
extern "C" __global__ void moments(const float* x, float2* out, int columns) {
  Moments own = {0.0f, 0.0f, 0.0f};
  for (int c = threadIdx.x; c < columns; c += 32) {
    float v = x[blockIdx.x * columns + c];
    own.n += 1.0f;
    float delta = v - own.mean;
    own.mean += delta / own.n;
    own.m2 += delta * (v - own.mean);
  }
  for (int d = 16; d > 0; d >>= 1) {
    Moments other = {__shfl_xor_sync(~0u, own.n, d), __shfl_xor_sync(~0u, own.mean, d), __shfl_xor_sync(~0u, own.m2, d)};
    own = combine(own, other);
  }
  if (threadIdx.x == 0) out[blockIdx.x] = make_float2(own.mean, own.m2 / own.n);
}

extern "C" __global__ void arg_max(const float* x, int* out, int columns) {
  __shared__ float values[256];
  __shared__ int places[256];
  int t = threadIdx.x;
  float best = -FLT_MAX;
  int where = 0;
  for (int c = t; c < columns; c += blockDim.x) {
    float v = x[blockIdx.x * columns + c];
    if (v > best) best = v, where = c;
  }
  values[t] = best;
  places[t] = where;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half && (values[t + half] > values[t] || (values[t + half] == values[t] && places[t + half] < places[t]))) {
      values[t] = values[t + half];
      places[t] = places[t + half];
    }
  }
  if (t == 0) out[blockIdx.x] = places[0];
}

extern "C" __global__ void redux_parity(const unsigned* x, unsigned* out) {
  unsigned v = x[blockIdx.x * 32 + threadIdx.x];
  unsigned all = __reduce_and_sync(~0u, v), some = __reduce_or_sync(~0u, v), odd = __reduce_xor_sync(~0u, v);
  unsigned least = __reduce_min_sync(~0u, v), most = __reduce_max_sync(~0u, v), sum = __reduce_add_sync(~0u, v);
  if (threadIdx.x == 0) {
    unsigned* row = out + blockIdx.x * 6;
    row[0] = all, row[1] = some, row[2] = odd, row[3] = least, row[4] = most, row[5] = sum;
  }
}
