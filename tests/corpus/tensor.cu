// The same on tensor cores: the wmma API, mma.sync fed by ldmatrix, int8, tf32, and attention.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

// A warp a 16 x 16 tile; row-major operands.
extern "C" __global__ void wmma_half(const half* a, const half* b, float* c, int n, int k) {
  int row = blockIdx.y * 16, column = (blockIdx.x * 2 + threadIdx.x / 32) * 16;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int i = 0; i < k; i += 16) {
    wmma::load_matrix_sync(fa, a + row * k + i, k);
    wmma::load_matrix_sync(fb, b + i * n + column, n);
    wmma::mma_sync(sum, fa, fb, sum);
  }
  wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}

// Tiles go through shared memory, the accumulator stays in half and is scaled in place.
extern "C" __global__ void wmma_shared_half(const half* a, const half* b, half* c, int n, int k) {
  __shared__ __align__(32) half as[32][32], bs[32][32], cs[4][16 * 16];
  int warp = threadIdx.x / 32, wy = warp / 2, wx = warp % 2;
  wmma::fragment<wmma::accumulator, 16, 16, 16, half> sum;
  wmma::fill_fragment(sum, __float2half(0.0f));
  for (int i = 0; i < k; i += 32) {
    for (int e = threadIdx.x; e < 1024; e += blockDim.x) {
      as[e / 32][e % 32] = a[(blockIdx.y * 32 + e / 32) * k + i + e % 32];
      bs[e / 32][e % 32] = b[(blockIdx.x * 32 + e / 32) * k + i + e % 32];
    }
    __syncthreads();
    for (int step = 0; step < 32; step += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
      wmma::load_matrix_sync(fa, &as[wy * 16][step], 32);
      wmma::load_matrix_sync(fb, &bs[wx * 16][step], 32);
      wmma::mma_sync(sum, fa, fb, sum);
    }
    __syncthreads();
  }
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = __hmul(sum.x[i], __float2half(0.5f));
  wmma::store_matrix_sync(cs[warp], sum, 16, wmma::mem_row_major);
  __syncwarp();
  for (int e = threadIdx.x % 32; e < 256; e += 32)
    c[(blockIdx.y * 32 + wy * 16 + e / 16) * n + blockIdx.x * 32 + wx * 16 + e % 16] = cs[warp][e];
}

extern "C" __global__ void wmma_int8(const signed char* a, const signed char* b, int* c, int k) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, int> sum;
  wmma::fill_fragment(sum, 0);
  for (int i = 0; i < k; i += 16) {
    wmma::load_matrix_sync(fa, a + i, k);
    wmma::load_matrix_sync(fb, b + i, k);
    wmma::mma_sync(sum, fa, fb, sum);
  }
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_col_major);
}

extern "C" __global__ void wmma_tf32(const float* a, const float* b, float* c, int k) {
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int i = 0; i < k; i += 8) {
    wmma::load_matrix_sync(fa, a + i, k);
    wmma::load_matrix_sync(fb, b + i * 16, 16);
    for (int e = 0; e < fa.num_elements; ++e) fa.x[e] = wmma::__float_to_tf32(fa.x[e]);
    for (int e = 0; e < fb.num_elements; ++e) fb.x[e] = wmma::__float_to_tf32(fb.x[e]);
    wmma::mma_sync(sum, fa, fb, sum);
  }
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

extern "C" __global__ void wmma_bf16_wide(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c) {
  wmma::fragment<wmma::matrix_a, 8, 32, 16, __nv_bfloat16, wmma::col_major> fa;
  wmma::fragment<wmma::matrix_b, 8, 32, 16, __nv_bfloat16, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 8, 32, 16, float> sum;
  wmma::load_matrix_sync(sum, c, 32, wmma::mem_row_major);
  wmma::load_matrix_sync(fa, a, 8);
  wmma::load_matrix_sync(fb, b, 32);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(c, sum, 32, wmma::mem_row_major);
}

extern "C" __global__ void wmma_double(const double* a, const double* b, double* c, int k) {
  wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 8, 8, 4, double> sum;
  wmma::fill_fragment(sum, 0.0);
  for (int i = 0; i < k; i += 4) {
    wmma::load_matrix_sync(fa, a + i, k);
    wmma::load_matrix_sync(fb, b + i, k);
    wmma::mma_sync(sum, fa, fb, sum);
  }
  wmma::store_matrix_sync(c, sum, 8, wmma::mem_row_major);
}

__device__ __forceinline__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void load_x4(unsigned (&r)[4], const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(p)));
}

__device__ __forceinline__ void load_x2_turned(unsigned (&r)[2], const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(shared_address(p)));
}

__device__ __forceinline__ void load_x2(unsigned (&r)[2], const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(shared_address(p)));
}

__device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// 64 x 64 a block of four warps, 16-byte cp.async into padded tiles, three stages.
extern "C" __global__ void mma_pipeline(const __half* a, const __half* b, float* c, int n, int k) {
  constexpr int kStages = 3, kRow = 40, kWide = 72;
  __shared__ __align__(16) __half as[kStages][64 * kRow], bs[kStages][32 * kWide];
  int t = threadIdx.x, lane = t % 32, warp = t / 32;
  auto fetch = [&](int tile) {
    int stage = tile % kStages;
    for (int piece = t; piece < 256; piece += 128) {
      int row = piece / 4, column = piece % 4 * 8;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&as[stage][row * kRow + column])),
                   "l"(a + (blockIdx.y * 64 + row) * k + tile * 32 + column) : "memory");
      row = piece / 8, column = piece % 8 * 8;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&bs[stage][row * kWide + column])),
                   "l"(b + (tile * 32 + row) * n + blockIdx.x * 64 + column) : "memory");
    }
  };
  float sum[8][4] = {};
  int tiles = k / 32;
  for (int s = 0; s < kStages - 1; ++s) {
    if (s < tiles) fetch(s);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  for (int tile = 0; tile < tiles; ++tile) {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    if (tile + kStages - 1 < tiles) fetch(tile + kStages - 1);
    asm volatile("cp.async.commit_group;" ::: "memory");
    int stage = tile % kStages;
    for (int step = 0; step < 32; step += 16) {
      unsigned fa[4];
      load_x4(fa, &as[stage][(warp * 16 + lane % 16) * kRow + step + lane / 16 * 8]);
      for (int j = 0; j < 8; ++j) {
        unsigned fb[2];
        load_x2_turned(fb, &bs[stage][(step + lane % 16) * kWide + j * 8]);
        multiply(sum[j], fa, fb);
      }
    }
  }
  for (int j = 0; j < 8; ++j) {
    int row = blockIdx.y * 64 + warp * 16 + lane / 4, column = blockIdx.x * 64 + j * 8 + lane % 4 * 2;
    *(float2*)(c + row * n + column) = make_float2(sum[j][0], sum[j][1]);
    *(float2*)(c + (row + 8) * n + column) = make_float2(sum[j][2], sum[j][3]);
  }
}

// Attention with online softmax: a warp owns 16 queries of 64 channels, keys come 16 at a time.
extern "C" __global__ void mma_attention(const __half* q, const __half* k, const __half* v, float* out, int n, float scale, int causal) {
  constexpr int D = 64, kRow = D + 8;
  __shared__ __align__(16) __half qs[16 * kRow], ks[16 * kRow], vs[16 * kRow];
  int lane = threadIdx.x, first = blockIdx.x * 16;
  size_t head = (size_t)blockIdx.y * n * D;
  for (int e = lane; e < 16 * D / 8; e += 32)
    *(uint4*)&qs[e / 8 * kRow + e % 8 * 8] = *(const uint4*)(q + head + (first + e / 8) * D + e % 8 * 8);
  __syncwarp();
  unsigned fq[4][4];
  for (int s = 0; s < 4; ++s) load_x4(fq[s], &qs[lane % 16 * kRow + s * 16 + lane / 16 * 8]);
  float o[8][4] = {}, m[2] = {-INFINITY, -INFINITY}, l[2] = {0, 0};
  int end = causal ? first + 16 : n;
  for (int start = 0; start < end; start += 16) {
    __syncwarp();
    for (int e = lane; e < 16 * D / 8; e += 32) {
      *(uint4*)&ks[e / 8 * kRow + e % 8 * 8] = *(const uint4*)(k + head + (start + e / 8) * D + e % 8 * 8);
      *(uint4*)&vs[e / 8 * kRow + e % 8 * 8] = *(const uint4*)(v + head + (start + e / 8) * D + e % 8 * 8);
    }
    __syncwarp();
    float s[2][4] = {};
    for (int half = 0; half < 2; ++half)
      for (int step = 0; step < 4; ++step) {
        unsigned fk[2];
        load_x2(fk, &ks[(half * 8 + lane % 8) * kRow + step * 16 + lane / 8 % 2 * 8]);
        multiply(s[half], fq[step], fk);
      }
    for (int r = 0; r < 2; ++r) {
      int row = first + lane / 4 + r * 8;
      float biggest = m[r];
      for (int half = 0; half < 2; ++half)
        for (int e = 0; e < 2; ++e) {
          int column = start + half * 8 + lane % 4 * 2 + e;
          float& x = s[half][r * 2 + e];
          x = causal && column > row ? -INFINITY : x * scale;
          biggest = fmaxf(biggest, x);
        }
      biggest = fmaxf(biggest, __shfl_xor_sync(~0u, biggest, 1));
      biggest = fmaxf(biggest, __shfl_xor_sync(~0u, biggest, 2));
      float keep = __expf(m[r] - biggest), sum = 0.0f;
      for (int half = 0; half < 2; ++half)
        for (int e = 0; e < 2; ++e) sum += s[half][r * 2 + e] = __expf(s[half][r * 2 + e] - biggest);
      sum += __shfl_xor_sync(~0u, sum, 1);
      sum += __shfl_xor_sync(~0u, sum, 2);
      m[r] = biggest;
      l[r] = l[r] * keep + sum;
      for (int j = 0; j < 8; ++j) o[j][r * 2] *= keep, o[j][r * 2 + 1] *= keep;
    }
    unsigned fp[4];
    for (int i = 0; i < 4; ++i) {
      __half2 pair = __floats2half2_rn(s[i / 2][i % 2 * 2], s[i / 2][i % 2 * 2 + 1]);
      fp[i] = *(unsigned*)&pair;
    }
    for (int j = 0; j < 8; ++j) {
      unsigned fv[2];
      load_x2_turned(fv, &vs[lane % 16 * kRow + j * 8]);
      multiply(o[j], fp, fv);
    }
  }
  for (int j = 0; j < 8; ++j)
    for (int r = 0; r < 2; ++r)
      *(float2*)(out + head + (first + lane / 4 + r * 8) * D + j * 8 + lane % 4 * 2) =
          make_float2(o[j][r * 2] / l[r], o[j][r * 2 + 1] / l[r]);
}

extern "C" __global__ void mma_int8_row(const int* a, const int* b, int* c) {
  int lane = threadIdx.x, d[4] = {0, 0, 0, 0};
  asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
               : "r"(a[lane / 4 * 8 + lane % 4]), "r"(a[(lane / 4 + 8) * 8 + lane % 4]), "r"(a[lane / 4 * 8 + lane % 4 + 4]),
                 "r"(a[(lane / 4 + 8) * 8 + lane % 4 + 4]), "r"(b[lane / 4 * 8 + lane % 4]), "r"(b[lane / 4 * 8 + lane % 4 + 4]));
  int row = lane / 4, column = lane % 4 * 2;
  c[row * 8 + column] = d[0], c[row * 8 + column + 1] = d[1];
  c[(row + 8) * 8 + column] = d[2], c[(row + 8) * 8 + column + 1] = d[3];
}
