// problem: flash-forward-f16
// mma.sync with 32 queries a warp: each fragment of K and V that ldmatrix brings is multiplied twice.
//
// Added over mma_swizzled.cu:
// - Two tiles of 16 queries a warp: half the ldmatrix for the same products. Q no longer fits the registers: it is read for
//   every tile of keys.
// - K and V of the next tile have buffers of their own: one barrier a tile, and the copies have all of its time.
// - A fragment is asked for while the one before is multiplied, and the weights of the next 16 keys are made meanwhile.
// - The base of the weights stays until a score passes it by 2^8, which a vote finds out: the lanes of a row need not agree
//   on a maximum, and O is not rescaled. A half holds 2^8, and rounds it by the same share.
// - With the causal mask the longest rows of tiles of all heads begin first, not those of one head after another's.
// Predicted: nothing beforehand. By counts made afterwards a tile of 32 queries and 64 keys takes an SM 384 cycles of
// tensor cores at the rate of mma.sync, 320 of ldmatrix (mma_swizzled.cu: 512), 190 to issue and 128 of exponentials:
// 587 TFLOP/s if they all overlapped, 440 if exponentials never did with products.
// Measured: H200, 16 heads, N = 8192, D = 128: 409 TFLOP/s; causal 405; N = 4096, D = 64, causal: 294. (mma_swizzled.cu in
// that run: 327, 297, 204. In another it had 328, 297, 206, and with this order of causal rows and nothing else 327, 324, 242.)
// @launch mma_32_queries<D><<<dim3(causal ? BH : cdiv(N, kQueries), causal ? cdiv(N, kQueries) : BH), 32 * kWarps, (kQueries + 2 * kStages * kKeys) * D * sizeof(__half)>>>(Q, K, V, O, N, scale, causal)
#include <cuda_fp16.h>
#include "common.cuh"

constexpr int kWarps = 4;
constexpr int kTiles = 2;                       // of 16 queries, a warp
constexpr int kQueries = 16 * kTiles * kWarps;  // a CTA
constexpr int kKeys = 64;                       // a tile of keys
constexpr int kPairs = kKeys / 16;              // of blocks of 8 keys: what one ldmatrix brings
constexpr int kUnits = 4 * kTiles;              // of two weights a lane: those of 16 keys
constexpr int kStages = 2;                      // tiles of K and of V: one is multiplied, the next on its way
constexpr int kCtasPerSm = 2;
constexpr float kSlack = 8.f;                   // weights reach 2^kSlack before their base is raised
constexpr float kLog2e = 1.4426950408889634f;

__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Where the 16 bytes of a column lie in a tile with rows of D halves, in bytes.
template <int D>
__device__ __forceinline__ unsigned place(int row, int column) {
  constexpr int kColumns = D / 8, kApart = kColumns < 8 ? 8 / kColumns : 1;
  return 2 * row * D + 16 * (column ^ row / kApart % (kColumns < 8 ? kColumns : 8));
}

// The address `column` columns (even) to the right of one in the first or second column.
__device__ __forceinline__ unsigned right(unsigned address, int column) {
  return (address ^ (16 * column & 127)) + (16 * column & ~127);
}

// Asks for kRows rows of a [n, D] matrix from `first` on, zeros past its end.
template <int D, int kRows>
__device__ __forceinline__ void ask(unsigned tile, const __half* matrix, int first, int n) {
  constexpr int kColumns = D / 8, kAtOnce = 32 * kWarps / kColumns;  // a multiple of 8 rows: a thread keeps its place
  const int column = threadIdx.x % kColumns, begin = threadIdx.x / kColumns;
  const __half* from = matrix + static_cast<size_t>(first + begin) * D + 8 * column;
  const unsigned to = tile + place<D>(begin, column);
#pragma unroll
  for (int i = 0; i < kRows / kAtOnce; ++i) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to + i * kAtOnce * D * 2),
                 "l"(from + i * kAtOnce * D), "r"(first + begin + i * kAtOnce < n ? 16 : 0)
                 : "memory");
  }
}

// Four 8 x 8 matrices of halves; lane i names row i % 8 of matrix i / 8.
__device__ __forceinline__ void load_matrices(unsigned (&to)[4], unsigned row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}

__device__ __forceinline__ void load_matrices_turned(unsigned (&to)[4], unsigned row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}

// c += a b for a 16 x 16 and b 16 x 8, in halves, summed in float.
__device__ __forceinline__ void multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ unsigned pack(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const unsigned*>(&pair);
}

// Of a tile of 16 queries lane i has the rows i / 4 and i / 4 + 8, of every 8 columns two: 2 (i % 4) and the next.
template <int D>
__global__ void __launch_bounds__(32 * kWarps, kCtasPerSm)
mma_32_queries(const __half* __restrict__ Q, const __half* __restrict__ K, const __half* __restrict__ V,
               __half* __restrict__ O, int N, float scale, bool causal) {
  constexpr unsigned kTileBytes = kKeys * D * 2;
  constexpr int kSteps = D / 16, kUnitsAStep = kUnits / kSteps;
  static_assert(kUnits % kSteps == 0);
  extern __shared__ __align__(128) __half tiles[];
  const unsigned q_tile = static_cast<unsigned>(__cvta_generic_to_shared(tiles));
  const unsigned k_tile = q_tile + kQueries * D * 2, v_tile = k_tile + kStages * kTileBytes;
  // With the mask the longest rows of tiles of all heads begin first.
  const int row_of_tiles = causal ? gridDim.y - 1 - blockIdx.y : blockIdx.x;
  const size_t head = static_cast<size_t>(causal ? blockIdx.x : blockIdx.y) * N * D;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first_query = row_of_tiles * kQueries, first_row = first_query + 16 * kTiles * warp;
  const int key_end = causal ? min(N, first_query + kQueries) : N;
  const float factor = scale * kLog2e;

  const auto ask_tile = [&](unsigned stage, int first) {
    ask<D, kKeys>(k_tile + stage, K + head, first, N);
    ask<D, kKeys>(v_tile + stage, V + head, first, N);
  };
  ask<D, kQueries>(q_tile, Q + head, first_query, N);
  ask_tile(0, 0);
  float o[kTiles][D / 8][4], m[kTiles][2], l[kTiles][2];
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      m[t][half] = -INFINITY;
      l[t][half] = 0.f;
    }
#pragma unroll
    for (int block = 0; block < D / 8; ++block)
#pragma unroll
      for (int e = 0; e < 4; ++e) o[t][block][e] = 0.f;
  }
  // Where this lane's rows of 8 x 8 matrices begin, for ldmatrix: of Q, of K, of V.
  const unsigned q_base = q_tile + place<D>(16 * kTiles * warp + lane % 16, lane / 16);
  const unsigned k_base = k_tile + place<D>(lane / 16 * 8 + lane % 8, lane / 8 % 2);
  const unsigned v_base = v_tile + place<D>(lane % 16, lane / 16);
  unsigned stage = 0;
#pragma unroll 1
  for (int first = 0; first < key_end; first += kKeys) {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();  // this tile is there, and the one before is no longer read
    if (first + kKeys < key_end) ask_tile(stage ^ kTileBytes, first + kKeys);
    if (!causal || first < first_row + 16 * kTiles) {
      float s[kTiles][2 * kPairs][4];
#pragma unroll
      for (int t = 0; t < kTiles; ++t)
#pragma unroll
        for (int block = 0; block < 2 * kPairs; ++block)
#pragma unroll
          for (int e = 0; e < 4; ++e) s[t][block][e] = 0.f;
      // Asked for ahead of their products: Q of a step by a step, K by a fragment.
      unsigned q[2][kTiles][4], b[2][4];
#pragma unroll
      for (int i = -1; i < kSteps * kPairs; ++i) {
        const int step = i / kPairs, pair = i % kPairs, next = i + 1, next_step = (i + kPairs) / kPairs;
        if ((i < 0 || pair == 0) && next_step < kSteps) {
#pragma unroll
          for (int t = 0; t < kTiles; ++t)
            load_matrices(q[next_step % 2][t], right(q_base, 2 * next_step) + 32 * t * D);
        }
        if (next < kSteps * kPairs)
          load_matrices(b[next % 2], right(k_base + stage, 2 * (next / kPairs)) + next % kPairs * 32 * D);
        if (i >= 0) {
#pragma unroll
          for (int t = 0; t < kTiles; ++t)
#pragma unroll
            for (int e = 0; e < 2; ++e)
              multiply_add(s[t][2 * pair + e], q[step % 2][t], b[i % 2][2 * e], b[i % 2][2 * e + 1]);
        }
      }

      if (first + kKeys > N || (causal && first + kKeys > first_row + 1)) {
#pragma unroll
        for (int t = 0; t < kTiles; ++t)
#pragma unroll
          for (int block = 0; block < 2 * kPairs; ++block)
#pragma unroll
            for (int e = 0; e < 4; ++e) {
              const int key = first + 8 * block + lane % 4 * 2 + e % 2;
              const int query = first_row + 16 * t + lane / 4 + e / 2 * 8;
              if (key >= N || (causal && key > query)) s[t][block][e] = -INFINITY;
            }
      }

      // Only where a score passes the base by more than the slack do the lanes of a row have to agree on a new one.
      float top[kTiles][2], over = -INFINITY;
#pragma unroll
      for (int t = 0; t < kTiles; ++t)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float x = s[t][0][2 * half];
#pragma unroll
          for (int block = 0; block < 2 * kPairs; ++block)
            x = fmaxf(x, fmaxf(s[t][block][2 * half], s[t][block][2 * half + 1]));
          top[t][half] = x;
          over = fmaxf(over, fmaf(x, factor, -m[t][half]));
        }
      if (__any_sync(0xffffffffu, over > kSlack)) {
#pragma unroll
        for (int t = 0; t < kTiles; ++t)
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            float x = top[t][half];
#pragma unroll
            for (int apart = 1; apart < 4; apart *= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, apart));
            x = fmaxf(m[t][half], x * factor);  // no -INFINITY: every query sees key 0
            const float correction = exp2_fast(m[t][half] - x);
            m[t][half] = x;
            l[t][half] *= correction;
#pragma unroll
            for (int block = 0; block < D / 8; ++block)
#pragma unroll
              for (int e = 0; e < 2; ++e) o[t][block][2 * half + e] *= correction;
          }
      }

      // Weights are made 16 keys ahead of their products. Two neighboring blocks of them have the very places that the left
      // operand asks for.
      unsigned p[kTiles][kPairs][4];
#pragma unroll
      for (int i = -kSteps; i < kSteps * kPairs; ++i) {
        const int pair = i / kSteps, block = i % kSteps * 2, next = i + 1, ahead = i + kSteps;
        if (ahead < kSteps * kPairs) {
#pragma unroll
          for (int u = ahead * kUnitsAStep; u < (ahead + 1) * kUnitsAStep; ++u) {
            const int t = u % kUnits / 4, part = u % 4, half = part % 2;
            const float* two = &s[t][u / kUnits * 2 + part / 2][2 * half];
            float w[2];
#pragma unroll
            for (int e = 0; e < 2; ++e) w[e] = exp2_fast(fmaf(two[e], factor, -m[t][half]));
            l[t][half] += w[0] + w[1];
            p[t][u / kUnits][part] = pack(w[0], w[1]);
          }
        }
        if (next >= 0 && next < kSteps * kPairs)
          load_matrices_turned(b[next % 2], right(v_base + stage, next % kSteps * 2) + next / kSteps * 32 * D);
        if (i >= 0) {
#pragma unroll
          for (int t = 0; t < kTiles; ++t)
#pragma unroll
            for (int e = 0; e < 2; ++e)
              multiply_add(o[t][block + e], p[t][pair], b[i % 2][2 * e], b[i % 2][2 * e + 1]);
        }
      }
    }
    stage ^= kTileBytes;
  }

#pragma unroll
  for (int t = 0; t < kTiles; ++t)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = l[t][half];
#pragma unroll
      for (int apart = 1; apart < 4; apart *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, apart);
      const int query = first_row + 16 * t + lane / 4 + 8 * half;
      const float inverse = 1.f / sum;
      if (query < N) {
        __half* to = O + head + static_cast<size_t>(query) * D + lane % 4 * 2;
#pragma unroll
        for (int block = 0; block < D / 8; ++block) {
          *reinterpret_cast<unsigned*>(to + 8 * block) =
              pack(o[t][block][2 * half] * inverse, o[t][block][2 * half + 1] * inverse);
        }
      }
    }
}
