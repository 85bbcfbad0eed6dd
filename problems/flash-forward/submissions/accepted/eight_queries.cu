// problem: flash-forward
// Tiles of 8 queries a thread for S and for O, K and V copied ahead with cp.async, shared memory without conflicts.
//
// Added over register_tiles.cu:
// - A thread has 8 queries: 8 x 4 scores and 8 x 8 elements of O at D = 128, 8 x 8 of both at D = 64. A step of 4
//   dimensions is 12 (16) loads of 16 bytes for 128 (256) multiply-adds, so that shared memory is busy 3/4 (1/2) of the
//   time that the multiply-adds take.
// - V of a tile is copied while S is computed, K of the next one while O is: two barriers a tile, no wait in between.
// - No padding: 16-byte columns are exchanged by the row's number (XOR). Lanes 0 and 1 have different queries and the
//   same key, lanes 0 and 2 the same query: half a warp needs 128 bytes of either and gets them at once.
// - Weights are powers of 2 of one fmaf; what they are measured against is rounded, and divides out. Sums of weights stay
//   with the thread to the end. Of a warp's weights no other warp reads any.
// - With the causal mask the longest rows of tiles of 8 heads begin first. Head by head the long rows of the last head begin
//   late: the busiest place of a CTA then has 1.12 times the mean of the tiles at N = 8192, D = 128 and 1.63 times at
//   N = 4096, D = 64, so ordered 1.00 at both (counted). With 4 heads at a time it still has 1.50 at D = 64; with more than
//   8, CTAs at work together read the K and V of more heads.
// Predicted: 65% of the multiply-adds of the device at D = 128: 85% are left by loads from shared memory and
// softmax, and 8 warps an SM hide not all of their latency.
// Measured: H200, 16 heads, D = 128, N = 8192: 12.71 ms, 43.3 TFLOP/s; causal 6.268 ms, 43.9. D = 64, N = 4096: 1.598 ms,
// 43.0; causal 0.813 ms, 42.3. Causal head by head 40.0 and 29.3 in that run, 4 heads at a time 43.8 and 29.2, all 16 44.1
// and 41.5. One CTA of 256 threads an SM instead of two of 128: 42.1 at D = 128.
// @launch flash_tiles<D><<<dim3(causal ? kHeads : cdiv(N, kRows * Shape<D>::kY), causal ? cdiv(N, kRows * Shape<D>::kY) : BH, causal ? cdiv(BH, kHeads) : 1), Shape<D>::kX * Shape<D>::kY, Shape<D>::kBytes>>>(Q, K, V, O, N, scale, causal, BH)
#include "common.cuh"

constexpr int kRows = 8;  // queries a thread
constexpr int kHeads = 8;  // whose longest rows of tiles begin first together
constexpr float kLog2e = 1.4426950408889634f;

// kX threads share a query, kY rows of them are a CTA. kKeys: keys a tile. kCtasPerSm: as registers and bytes allow.
template <int D>
struct Shape {
  static constexpr int kX = D > 64 ? 16 : 8, kY = D > 64 ? 8 : 16;
  static constexpr int kKeys = 64, kCtasPerSm = 2;
  static constexpr int kStepsOfS = D > 64 ? 8 : 4, kStepsOfO = D > 64 ? 1 : 2;  // unrolled
  static constexpr int kThreads = kX * kY, kQueries = kRows * kY;
  static constexpr int kFloats = (kQueries + 2 * kKeys) * D + kQueries * kKeys;
  static constexpr int kBytes = 4 * kFloats;
};

__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Four floats at an address that 16 divides.
__device__ __forceinline__ float4& quad(float* at) { return *reinterpret_cast<float4*>(at); }
__device__ __forceinline__ const float4& quad(const float* at) { return *reinterpret_cast<const float4*>(at); }

// Asks for the rows first .. first + kKeys - 1 of a [n, D] matrix, zeros past its end. Column c of 16 bytes goes to
// c ^ row % 8 where kSwizzled.
template <int D, bool kSwizzled>
__device__ __forceinline__ void ask(float* tile, const float* matrix, int first, int n) {
  constexpr int kColumns = D / 4, kAtOnce = Shape<D>::kThreads / kColumns;
  const int column = threadIdx.x % kColumns, begin = threadIdx.x / kColumns;
  const float* from = matrix + static_cast<size_t>(first + begin) * D + 4 * column;
#pragma unroll
  for (int i = 0; i < Shape<D>::kKeys / kAtOnce; ++i) {
    const int row = begin + i * kAtOnce;
    const float* to = tile + row * D + 4 * (kSwizzled ? column ^ row % 8 : column);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(from + i * kAtOnce * D), "r"(first + row < n ? 16 : 0)
                 : "memory");
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
}

__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_group 0;" ::: "memory"); }

// Thread (y, x) has the queries y + kY i, the keys x + kX j and the columns 4 x + 4 kX c.
template <int D>
__global__ void __launch_bounds__(Shape<D>::kThreads, Shape<D>::kCtasPerSm)
flash_tiles(const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V,
            float* __restrict__ O, int N, float scale, bool causal, int BH) {
  constexpr int kX = Shape<D>::kX, kY = Shape<D>::kY, kKeys = Shape<D>::kKeys, kQueries = Shape<D>::kQueries;
  constexpr int kOfKeys = kKeys / kX, kOfColumns = D / (4 * kX), kInWarp = 32 / kX;
  extern __shared__ __align__(16) float tiles[];
  float* q_tile = tiles;
  float* k_tile = q_tile + kQueries * D;
  float* v_tile = k_tile + kKeys * D;
  float* weights = v_tile + kKeys * D;
  const unsigned of_head = causal ? blockIdx.z * kHeads + blockIdx.x : blockIdx.y;
  if (of_head >= BH) return;
  const size_t head = static_cast<size_t>(of_head) * N * D;
  const int first_query = (causal ? gridDim.y - 1 - blockIdx.y : blockIdx.x) * kQueries;
  const int lane = threadIdx.x % 32;
  const int x = lane / 2 % kX, y = threadIdx.x / 32 * kInWarp + lane % 2 + lane / (2 * kX) * 2;
  const int key_end = causal ? min(N, first_query + kQueries) : N;

  ask<D, true>(k_tile, K + head, 0, N);
  for (int i = threadIdx.x; i < kQueries * (D / 4); i += Shape<D>::kThreads) {
    const int row = i / (D / 4), column = i % (D / 4);
    float4 value = make_float4(0.f, 0.f, 0.f, 0.f);
    if (first_query + row < N) value = quad(Q + head + static_cast<size_t>(first_query + row) * D + 4 * column);
    quad(q_tile + row * D + 4 * (column ^ row % 2)) =
        make_float4(value.x * scale, value.y * scale, value.z * scale, value.w * scale);
  }

  float m[kRows], l[kRows];
  float4 o[kRows][kOfColumns];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    m[i] = -INFINITY;
    l[i] = 0.f;
#pragma unroll
    for (int c = 0; c < kOfColumns; ++c) o[i][c] = make_float4(0.f, 0.f, 0.f, 0.f);
  }
  float* mine = weights + y * kKeys;
  const int shift = kX * (y % kInWarp);  // weights of neighboring queries lie in other banks

  for (int first = 0; first < key_end; first += kKeys) {
    wait_for_copies();
    __syncthreads();  // K is there; V of the tile before is done with
    ask<D, false>(v_tile, V + head, first, N);

    float s[kRows][kOfKeys];
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int j = 0; j < kOfKeys; ++j) s[i][j] = 0.f;
#pragma unroll Shape<D>::kStepsOfS
    for (int d = 0; d < D / 4; ++d) {
      float4 k[kOfKeys];
#pragma unroll
      for (int j = 0; j < kOfKeys; ++j) k[j] = quad(k_tile + (x + kX * j) * D + 4 * (d ^ x % 8));
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const float4 q = quad(q_tile + (y + kY * i) * D + 4 * (d ^ y % 2));
#pragma unroll
        for (int j = 0; j < kOfKeys; ++j) {
          s[i][j] += q.x * k[j].x;
          s[i][j] += q.y * k[j].y;
          s[i][j] += q.z * k[j].z;
          s[i][j] += q.w * k[j].w;
        }
      }
    }

    const bool masked = first + kKeys > N || (causal && first + kKeys > first_query + 1);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float top = -INFINITY;
#pragma unroll
      for (int j = 0; j < kOfKeys; ++j) {
        const int key = first + x + kX * j;
        if (masked && (key >= N || (causal && key > first_query + y + kY * i))) s[i][j] = -INFINITY;
        top = fmaxf(top, s[i][j]);
      }
#pragma unroll
      for (int step = kX; step > 1; step /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, step));
      top = fmaxf(m[i], top * kLog2e);  // no -INFINITY: every query sees key 0
      const float correction = exp2_fast(m[i] - top);
      m[i] = top;
      l[i] *= correction;
#pragma unroll
      for (int c = 0; c < kOfColumns; ++c) {
        o[i][c].x *= correction;
        o[i][c].y *= correction;
        o[i][c].z *= correction;
        o[i][c].w *= correction;
      }
#pragma unroll
      for (int j = 0; j < kOfKeys; ++j) {
        const float w = exp2_fast(fmaf(s[i][j], kLog2e, -top));
        mine[kY * i * kKeys + ((x + kX * j) ^ shift)] = w;
        l[i] += w;
      }
    }

    wait_for_copies();
    __syncthreads();  // V and the weights are there; K is done with
    if (first + kKeys < key_end) ask<D, true>(k_tile, K + head, first + kKeys, N);
#pragma unroll Shape<D>::kStepsOfO
    for (int key = 0; key < kKeys; key += 4) {
      float4 v[4][kOfColumns];
#pragma unroll
      for (int n = 0; n < 4; ++n)
#pragma unroll
        for (int c = 0; c < kOfColumns; ++c) v[n][c] = quad(v_tile + (key + n) * D + 4 * (x + kX * c));
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const float4 w = quad(mine + kY * i * kKeys + (key ^ shift));
#pragma unroll
        for (int c = 0; c < kOfColumns; ++c) {
          o[i][c].x += w.x * v[0][c].x;
          o[i][c].y += w.x * v[0][c].y;
          o[i][c].z += w.x * v[0][c].z;
          o[i][c].w += w.x * v[0][c].w;
          o[i][c].x += w.y * v[1][c].x;
          o[i][c].y += w.y * v[1][c].y;
          o[i][c].z += w.y * v[1][c].z;
          o[i][c].w += w.y * v[1][c].w;
          o[i][c].x += w.z * v[2][c].x;
          o[i][c].y += w.z * v[2][c].y;
          o[i][c].z += w.z * v[2][c].z;
          o[i][c].w += w.z * v[2][c].w;
          o[i][c].x += w.w * v[3][c].x;
          o[i][c].y += w.w * v[3][c].y;
          o[i][c].z += w.w * v[3][c].z;
          o[i][c].w += w.w * v[3][c].w;
        }
      }
    }
  }

#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int step = kX; step > 1; step /= 2) l[i] += __shfl_xor_sync(0xffffffffu, l[i], step);
    const int query = first_query + y + kY * i;
    const float inverse = 1.f / l[i];
#pragma unroll
    for (int c = 0; c < kOfColumns; ++c) {
      if (query >= N) break;
      quad(O + head + static_cast<size_t>(query) * D + 4 * (x + kX * c)) =
          make_float4(o[i][c].x * inverse, o[i][c].y * inverse, o[i][c].z * inverse, o[i][c].w * inverse);
    }
  }
}
