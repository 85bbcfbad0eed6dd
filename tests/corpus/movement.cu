// Histograms, transposes, sorting, selection and rotary embeddings.
#include <cfloat>
#include <cuda_fp16.h>

extern "C" __global__ void histogram_global(const unsigned char* x, unsigned* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(bins + x[i], 1u);
}

extern "C" __global__ void histogram_shared(const unsigned* x, unsigned* bins, int words) {
  __shared__ unsigned own[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) own[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x) {
    uchar4 v = *(const uchar4*)(x + i);
    atomicAdd(&own[v.x], 1u), atomicAdd(&own[v.y], 1u), atomicAdd(&own[v.z], 1u), atomicAdd(&own[v.w], 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x)
    if (own[b]) atomicAdd(bins + b, own[b]);
}

// Lanes with the same key elect one of them to count for all.
extern "C" __global__ void histogram_matched(const int* x, unsigned* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int key = i < n ? x[i] : -1;
  unsigned peers = __match_any_sync(~0u, key);
  if (key >= 0 && threadIdx.x % 32 == __ffs(peers) - 1) atomicAdd(bins + key, (unsigned)__popc(peers));
}

extern "C" __global__ void histogram_weighted(const int* x, const float* weight, double* bins, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(bins + x[i], (double)weight[i]);
}

extern "C" __global__ void transpose_plain(const float* x, float* out, int rows, int columns) {
  int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows && c < columns) out[c * rows + r] = x[r * columns + c];
}

extern "C" __global__ void transpose_padded(const float* x, float* out, int rows, int columns) {
  __shared__ float tile[32][33];
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (r + k < rows && c < columns) tile[threadIdx.y + k][threadIdx.x] = x[(r + k) * columns + c];
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (r + k < columns && c < rows) out[(r + k) * rows + c] = tile[threadIdx.x][threadIdx.y + k];
}

extern "C" __global__ void transpose_swizzled(const float4* x, float* out, int rows, int columns) {
  __shared__ float tile[32 * 32];
  int r = threadIdx.x / 8, q = threadIdx.x % 8;
  float4 v = x[((blockIdx.y * 32 + r) * columns + blockIdx.x * 32) / 4 + q];
  float e[4] = {v.x, v.y, v.z, v.w};
  for (int k = 0; k < 4; ++k) tile[r * 32 + ((q * 4 + k) ^ r)] = e[k];
  __syncthreads();
  for (int k = 0; k < 4; ++k) {
    int c = threadIdx.x / 32 + 8 * k, lane = threadIdx.x % 32;
    out[(blockIdx.x * 32 + c) * rows + blockIdx.y * 32 + lane] = tile[lane * 32 + (c ^ lane)];
  }
}

// (batch, sequence, head, channel) to (batch, head, sequence, channel).
extern "C" __global__ void permute_heads(const __half2* x, __half2* out, int sequence, int heads, int pairs) {
  int s = blockIdx.x, b = blockIdx.y;
  for (int e = threadIdx.x; e < heads * pairs; e += blockDim.x)
    out[((b * heads + e / pairs) * sequence + s) * pairs + e % pairs] = x[(b * sequence + s) * heads * pairs + e];
}

extern "C" __global__ void bitonic_top_k(const float* x, float* values, int* places, int columns, int k) {
  extern __shared__ float keys[];
  int* order = (int*)(keys + blockDim.x);
  int t = threadIdx.x;
  keys[t] = t < columns ? x[blockIdx.x * columns + t] : -FLT_MAX;
  order[t] = t;
  for (int size = 2; size <= blockDim.x; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      int other = t ^ stride;
      if (other > t) {
        bool falling = (t & size) == 0;
        bool swap = falling ? keys[t] < keys[other] : keys[t] > keys[other];
        if (swap) {
          float a = keys[t]; keys[t] = keys[other]; keys[other] = a;
          int b = order[t]; order[t] = order[other]; order[other] = b;
        }
      }
    }
  __syncthreads();
  if (t < k) values[blockIdx.x * k + t] = keys[t], places[blockIdx.x * k + t] = order[t];
}

// Every thread keeps its four best in local memory, the block merges them k times.
extern "C" __global__ void insertion_top_4(const float* x, float* out, int columns) {
  float best[4] = {-FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX};
  for (int c = threadIdx.x; c < columns; c += 32) {
    float v = x[blockIdx.x * columns + c];
    for (int j = 0; j < 4; ++j)
      if (v > best[j]) {
        float old = best[j];
        best[j] = v;
        v = old;
      }
  }
  int head = 0;
  for (int j = 0; j < 4; ++j) {
    float mine = head < 4 ? best[head] : -FLT_MAX, top = mine;
    for (int d = 16; d > 0; d /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
    unsigned holders = __ballot_sync(~0u, mine == top);
    if (threadIdx.x == __ffs(holders) - 1) ++head;
    if (threadIdx.x == 0) out[blockIdx.x * 4 + j] = top;
  }
}

__device__ unsigned ordered(float f) {
  unsigned u = __float_as_uint(f);
  return u & 0x80000000u ? ~u : u | 0x80000000u;
}

// The k-th largest of a row by four passes over digits of eight bits.
extern "C" __global__ void radix_select(const float* x, float* out, int columns, int k) {
  __shared__ unsigned bins[256];
  __shared__ unsigned prefix;
  __shared__ int left;
  if (threadIdx.x == 0) prefix = 0, left = k;
  for (int shift = 24; shift >= 0; shift -= 8) {
    for (int b = threadIdx.x; b < 256; b += blockDim.x) bins[b] = 0;
    __syncthreads();
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
      unsigned u = ordered(x[blockIdx.x * columns + c]);
      if (shift == 24 || u >> (shift + 8) == prefix >> (shift + 8)) atomicAdd(&bins[u >> shift & 255], 1u);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      int b = 255;
      while ((int)bins[b] < left) left -= bins[b--];
      prefix |= (unsigned)b << shift;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = __uint_as_float(prefix & 0x80000000u ? prefix & 0x7fffffffu : ~prefix);
}

// Pairs of neighboring channels turn by an angle that grows with the position.
extern "C" __global__ void rope_pairs(float2* x, const int* positions, int heads, int pairs, float base) {
  int token = blockIdx.x;
  for (int e = threadIdx.x; e < heads * pairs; e += blockDim.x) {
    float angle = positions[token] * powf(base, -(float)(e % pairs) / pairs), s, c;
    sincosf(angle, &s, &c);
    float2 v = x[token * heads * pairs + e];
    x[token * heads * pairs + e] = make_float2(v.x * c - v.y * s, v.x * s + v.y * c);
  }
}

// The other layout: channel i turns with channel i + d/2; sines come from a table.
extern "C" __global__ void rope_halves(const __half* x, const float* sines, const float* cosines, __half* out, int d) {
  int token = blockIdx.x, t = threadIdx.x;
  float a = __half2float(x[token * d + t]), b = __half2float(x[token * d + t + d / 2]);
  float s = sines[token * d / 2 + t], c = cosines[token * d / 2 + t];
  out[token * d + t] = __float2half(a * c - b * s);
  out[token * d + t + d / 2] = __float2half(b * c + a * s);
}
