// problem: flash-forward
// Register blocking: a thread computes 4 x 4 scores (2 x 4 at D = 128) from float4 reads of shared memory and
// keeps its share of O in registers; 8 lanes share a query.
// Measured: H200, 4096-64: 2167 us, 51.2% of the roof; 4096-64-causal: 1445 us, 38.3%; 8192-128: 23.8 ms, 37.2%;
// 8192-128-causal: 12.7 ms, 34.8%.
// @launch register_tiles<D><<<dim3((N + kRows<D> - 1) / kRows<D>, BH), 128>>>(Q, K, V, O, N, scale, causal)
#include "common.cuh"

template <int D>
constexpr int kRows = D > 64 ? 32 : 64;  // queries a block, so that the tiles fit into 48 KB
constexpr int kKeys = 32;                // keys a tile
constexpr int kPad = 4;                  // floats added to a row, against bank conflicts

__device__ float dot4(float4 a, float4 b, float sum) {
  return fmaf(a.x, b.x, fmaf(a.y, b.y, fmaf(a.z, b.z, fmaf(a.w, b.w, sum))));
}

// The 8 lanes that share a query reduce among themselves.
__device__ float row_max(float x) {
  for (int step = 4; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
  return x;
}

__device__ float row_sum(float x) {
  for (int step = 4; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

// Rows first .. first + rows - 1 of a [n, D] matrix, times a factor; zeros past the end.
template <int D, int kStride>
__device__ void load_rows(float* tile, const float* matrix, int first, int rows, int n, float factor) {
  for (int i = threadIdx.x; i < rows * (D / 4); i += 128) {
    const int row = i / (D / 4), d = i % (D / 4) * 4;
    float4 x = make_float4(0.f, 0.f, 0.f, 0.f);
    if (first + row < n) x = *reinterpret_cast<const float4*>(matrix + static_cast<size_t>(first + row) * D + d);
    x.x *= factor;
    x.y *= factor;
    x.z *= factor;
    x.w *= factor;
    *reinterpret_cast<float4*>(tile + row * kStride + d) = x;
  }
}

// 128 threads as 16 x 8: thread (y, x) has the queries y + 16 i, the keys x + 8 j and the columns 4 x + 32 c.
template <int D>
__global__ void __launch_bounds__(128)
register_tiles(const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V,
               float* __restrict__ O, int N, float scale, bool causal) {
  constexpr int kStride = D + kPad;
  constexpr int kPerThread = kRows<D> / 16;
  constexpr int kColumns = D / 32;
  __shared__ __align__(16) float q_tile[kRows<D> * kStride];
  __shared__ __align__(16) float kv_tile[kKeys * kStride];
  __shared__ float weights[kRows<D>][kKeys + kPad];
  const size_t head = static_cast<size_t>(blockIdx.y) * N * D;
  const int first_query = blockIdx.x * kRows<D>;
  const int x = threadIdx.x % 8, y = threadIdx.x / 8;

  load_rows<D, kStride>(q_tile, Q + head, first_query, kRows<D>, N, scale);
  float m[kPerThread], l[kPerThread];
  float4 o[kPerThread][kColumns];
  for (int i = 0; i < kPerThread; ++i) {
    m[i] = -INFINITY;
    l[i] = 0.f;
    for (int c = 0; c < kColumns; ++c) o[i][c] = make_float4(0.f, 0.f, 0.f, 0.f);
  }

  const int key_end = causal ? min(N, first_query + kRows<D>) : N;
  for (int first = 0; first < key_end; first += kKeys) {
    __syncthreads();
    load_rows<D, kStride>(kv_tile, K + head, first, kKeys, N, 1.f);
    __syncthreads();

    float s[kPerThread][4];
#pragma unroll
    for (int i = 0; i < kPerThread; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) s[i][j] = 0.f;
#pragma unroll 4
    for (int d = 0; d < D; d += 4) {
      float4 k[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) k[j] = *reinterpret_cast<const float4*>(kv_tile + (x + 8 * j) * kStride + d);
#pragma unroll
      for (int i = 0; i < kPerThread; ++i) {
        const float4 q = *reinterpret_cast<const float4*>(q_tile + (y + 16 * i) * kStride + d);
#pragma unroll
        for (int j = 0; j < 4; ++j) s[i][j] = dot4(q, k[j], s[i][j]);
      }
    }

#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      const int query = first_query + y + 16 * i;
      float top = m[i];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int key = first + x + 8 * j;
        if (key >= N || (causal && key > query)) s[i][j] = -INFINITY;
        top = fmaxf(top, s[i][j]);
      }
      top = row_max(top);
      const float base = top > -INFINITY ? top : 0.f;
      const float correction = __expf(m[i] - base);
      float sum = 0.f;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float w = __expf(s[i][j] - base);
        weights[y + 16 * i][x + 8 * j] = w;
        sum += w;
      }
      l[i] = l[i] * correction + row_sum(sum);
      m[i] = top;
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        o[i][c].x *= correction;
        o[i][c].y *= correction;
        o[i][c].z *= correction;
        o[i][c].w *= correction;
      }
    }

    __syncthreads();  // K is done with, and the weights are written
    load_rows<D, kStride>(kv_tile, V + head, first, kKeys, N, 1.f);
    __syncthreads();
#pragma unroll 4
    for (int j = 0; j < kKeys; ++j) {
      float w[kPerThread];
#pragma unroll
      for (int i = 0; i < kPerThread; ++i) w[i] = weights[y + 16 * i][j];
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        const float4 value = *reinterpret_cast<const float4*>(kv_tile + j * kStride + 4 * x + 32 * c);
#pragma unroll
        for (int i = 0; i < kPerThread; ++i) {
          o[i][c].x = fmaf(w[i], value.x, o[i][c].x);
          o[i][c].y = fmaf(w[i], value.y, o[i][c].y);
          o[i][c].z = fmaf(w[i], value.z, o[i][c].z);
          o[i][c].w = fmaf(w[i], value.w, o[i][c].w);
        }
      }
    }
  }

  for (int i = 0; i < kPerThread; ++i) {
    const int query = first_query + y + 16 * i;
    if (query >= N) continue;
    const float inverse = 1.f / l[i];
    for (int c = 0; c < kColumns; ++c) {
      const float4 value = o[i][c];
      *reinterpret_cast<float4*>(O + head + static_cast<size_t>(query) * D + 4 * x + 32 * c) =
          make_float4(value.x * inverse, value.y * inverse, value.z * inverse, value.w * inverse);
    }
  }
}
