// problem: flash-forward-f16
// mma.sync: 16 queries a warp; scores never leave registers, and K and V are copied while the other is multiplied.
// Measured: H200, 4096-64-causal: 243.7 us, 15.4% of the roof; 8192-128: 2208 us, 27.0%; 8192-128-causal: 1278 us,
// 23.3%.
// @launch mma_registers<D><<<dim3((N + kQueries - 1) / kQueries, BH), 32 * kWarps>>>(Q, K, V, O, N, scale, causal)
#include <cuda_fp16.h>
#include "common.cuh"

constexpr int kWarps = 4;
constexpr int kQueries = 16 * kWarps;  // queries a block, 16 for each warp
constexpr int kKeys = 64;              // keys a tile
constexpr int kPad = 8;                // halves added to a row of a tile, against bank conflicts

__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// 16 bytes to shared memory, behind the arithmetic. Nothing is read where `inside` is false: zeros are written.
__device__ __forceinline__ void copy_ahead(void* to, const void* from, bool inside) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(inside ? 16 : 0)
               : "memory");
}

__device__ __forceinline__ void end_of_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int kStillRunning>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kStillRunning) : "memory");
}

// Four 8 x 8 matrices of halves; lane i names row i % 8 of matrix i / 8.
__device__ __forceinline__ void load_matrices(unsigned (&to)[4], const __half* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}

__device__ __forceinline__ void load_matrices_turned(unsigned (&to)[4], const __half* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}

// c += a b for a 16 x 16 and b 16 x 8, in halves, summed in float.
__device__ __forceinline__ void multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ unsigned pack(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const unsigned*>(&pair);
}

// The four lanes that share a row reduce among themselves.
__device__ __forceinline__ float row_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

__device__ __forceinline__ float row_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

template <int D>
__device__ __forceinline__ void copy_tile(__half (*tile)[D + kPad], const __half* matrix, int first, int n) {
  for (int i = threadIdx.x; i < kKeys * (D / 8); i += 32 * kWarps) {
    const int row = i / (D / 8), d = i % (D / 8) * 8;
    const bool inside = first + row < n;
    copy_ahead(&tile[row][d], matrix + static_cast<size_t>(inside ? first + row : 0) * D + d, inside);
  }
  end_of_copies();
}

// Of its 16 queries lane l has the rows l / 4 and l / 4 + 8, of every 8 columns two: 2 (l % 4) and the next.
template <int D>
__global__ void __launch_bounds__(32 * kWarps)
mma_registers(const __half* __restrict__ Q, const __half* __restrict__ K, const __half* __restrict__ V,
              __half* __restrict__ O, int N, float scale, bool causal) {
  __shared__ __align__(16) __half k_tile[kKeys][D + kPad];
  __shared__ __align__(16) __half v_tile[kKeys][D + kPad];
  const size_t head = static_cast<size_t>(blockIdx.y) * N * D;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first_query = blockIdx.x * kQueries;
  const int row = first_query + 16 * warp + lane / 4;  // and row + 8
  const int column = lane % 4 * 2;
  const int key_end = causal ? min(N, first_query + kQueries) : N;

  copy_tile<D>(k_tile, K + head, 0, N);

  unsigned q[D / 16][4];
#pragma unroll
  for (int step = 0; step < D / 16; ++step) {
#pragma unroll
    for (int part = 0; part < 4; ++part) {
      const int r = row + part % 2 * 8, d = 16 * step + column + part / 2 * 8;
      q[step][part] = r < N ? *reinterpret_cast<const unsigned*>(Q + head + static_cast<size_t>(r) * D + d) : 0u;
    }
  }
  float o[D / 8][4], m[2] = {-INFINITY, -INFINITY}, l[2] = {0.f, 0.f};
#pragma unroll
  for (int block = 0; block < D / 8; ++block)
#pragma unroll
    for (int e = 0; e < 4; ++e) o[block][e] = 0.f;

  for (int first = 0; first < key_end; first += kKeys) {
    wait_for_copies<0>();
    __syncthreads();  // K is there, and V of the last tile is no longer read
    copy_tile<D>(v_tile, V + head, first, N);

    float s[kKeys / 8][4];
#pragma unroll
    for (int block = 0; block < kKeys / 8; ++block)
#pragma unroll
      for (int e = 0; e < 4; ++e) s[block][e] = 0.f;
#pragma unroll
    for (int step = 0; step < D / 16; ++step) {
#pragma unroll
      for (int block = 0; block < kKeys / 8; block += 2) {
        unsigned k[4];  // keys 8 block .. + 7 and + 8 .. + 15, each with the lower and the upper 8 dimensions
        load_matrices(k, &k_tile[8 * block + lane / 16 * 8 + lane % 8][16 * step + lane / 8 % 2 * 8]);
        multiply_add(s[block], q[step], k[0], k[1]);
        multiply_add(s[block + 1], q[step], k[2], k[3]);
      }
    }

    float top[2] = {m[0], m[1]};
#pragma unroll
    for (int block = 0; block < kKeys / 8; ++block) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int key = first + 8 * block + column + e % 2;
        const bool hidden = key >= N || (causal && key > row + e / 2 * 8);
        s[block][e] = hidden ? -INFINITY : s[block][e] * scale;
        top[e / 2] = fmaxf(top[e / 2], s[block][e]);
      }
    }
    float base[2], correction[2], sum[2] = {0.f, 0.f};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      top[half] = row_max(top[half]);
      base[half] = top[half] > -INFINITY ? top[half] : 0.f;  // no key visible yet: every weight is exp(-inf) = 0
      correction[half] = __expf(m[half] - base[half]);
      m[half] = top[half];
    }
#pragma unroll
    for (int block = 0; block < kKeys / 8; ++block) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        s[block][e] = __expf(s[block][e] - base[e / 2]);
        sum[e / 2] += s[block][e];
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) l[half] = l[half] * correction[half] + row_sum(sum[half]);
#pragma unroll
    for (int block = 0; block < D / 8; ++block)
#pragma unroll
      for (int e = 0; e < 4; ++e) o[block][e] *= correction[e / 2];

    wait_for_copies<0>();
    __syncthreads();  // V is there, and K is no longer read
    if (first + kKeys < key_end) copy_tile<D>(k_tile, K + head, first + kKeys, N);

    // Two neighboring blocks of scores have the very places that the left operand of the next product asks for.
#pragma unroll
    for (int step = 0; step < kKeys / 16; ++step) {
      const unsigned p[4] = {pack(s[2 * step][0], s[2 * step][1]), pack(s[2 * step][2], s[2 * step][3]),
                             pack(s[2 * step + 1][0], s[2 * step + 1][1]),
                             pack(s[2 * step + 1][2], s[2 * step + 1][3])};
#pragma unroll
      for (int block = 0; block < D / 8; block += 2) {
        unsigned v[4];  // dimensions 8 block .. + 7 and + 8 .. + 15, each with the lower and the upper 8 keys
        load_matrices_turned(v, &v_tile[16 * step + lane / 8 % 2 * 8 + lane % 8][8 * block + lane / 16 * 8]);
        multiply_add(o[block], p, v[0], v[1]);
        multiply_add(o[block + 1], p, v[2], v[3]);
      }
    }
  }

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int r = row + 8 * half;
    if (r >= N) continue;
    const float inverse = 1.f / l[half];
#pragma unroll
    for (int block = 0; block < D / 8; ++block) {
      __half2* to = reinterpret_cast<__half2*>(O + head + static_cast<size_t>(r) * D + 8 * block + column);
      *to = __floats2half2_rn(o[block][2 * half] * inverse, o[block][2 * half + 1] * inverse);
    }
  }
}
