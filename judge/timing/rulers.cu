// The judge's own kernels on a GPU: fresh signs for the inputs, a cold L2, and what the device can do at best.

using u64 = unsigned long long;

__device__ static u64 signs(u64 seed, u64 word) {
  if (seed == 0) return 0;
  u64 z = seed + (word + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// From the signs of one seed to those of another; fresh.py has the same function.
template <int BYTES, typename Word>
__device__ static void refresh(Word* data, u64 count, u64 before, u64 now) {
  constexpr int IN_VECTOR = 16 / BYTES;
  uint4* vectors = reinterpret_cast<uint4*>(data);
  const u64 whole = count / IN_VECTOR;
  const u64 thread = u64(blockIdx.x) * blockDim.x + threadIdx.x, threads = u64(gridDim.x) * blockDim.x;
  for (u64 v = thread; v < whole; v += threads) {
    const u64 first = v * IN_VECTOR;
    const unsigned bits = unsigned((signs(before, first >> 6) ^ signs(now, first >> 6)) >> (first & 63));
    uint4 x = vectors[v];
    unsigned* part = reinterpret_cast<unsigned*>(&x);
#pragma unroll
    for (int e = 0; e < IN_VECTOR; ++e) {
      part[e * BYTES / 4] ^= ((bits >> e) & 1u) << (8 * ((e * BYTES) % 4 + BYTES) - 1);
    }
    vectors[v] = x;
  }
  for (u64 e = whole * IN_VECTOR + thread; e < count; e += threads) {
    const u64 bit = ((signs(before, e >> 6) ^ signs(now, e >> 6)) >> (e & 63)) & 1;
    data[e] = Word(data[e] ^ (Word(bit) << (8 * BYTES - 1)));
  }
}

extern "C" __global__ void judge_refresh4(unsigned* data, u64 count, u64 before, u64 now) {
  refresh<4>(data, count, before, now);
}

extern "C" __global__ void judge_refresh2(unsigned short* data, u64 count, u64 before, u64 now) {
  refresh<2>(data, count, before, now);
}

extern "C" __global__ void judge_empty() {}

// `never` is drawn anew for each launch: a kernel that left other bytes in the buffer cannot make this one store.
template <bool STREAMED>
__device__ static void read_all(const uint4* data, u64 vectors, unsigned* sink, unsigned never) {
  const u64 stride = u64(gridDim.x) * blockDim.x;
  u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
  unsigned seen = 0;
  for (; i + 7 * stride < vectors; i += 8 * stride) {
    uint4 x[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) x[k] = STREAMED ? __ldcs(data + i + k * stride) : data[i + k * stride];
#pragma unroll
    for (int k = 0; k < 8; ++k) seen ^= x[k].x + x[k].y + x[k].z + x[k].w;
  }
  for (; i < vectors; i += stride) {
    const uint4 x = STREAMED ? __ldcs(data + i) : data[i];
    seen ^= x.x + x.y + x.z + x.w;
  }
  if (seen == never) *sink = seen;
}

extern "C" __global__ void __launch_bounds__(512) judge_read(const uint4* data, u64 vectors, unsigned* sink,
                                                             unsigned never) {
  read_all<true>(data, vectors, sink, never);
}

// With ordinary loads: lines that are marked to be streamed leave L2 first, and would push out little but each other.
extern "C" __global__ void __launch_bounds__(512) judge_sweep(const uint4* data, u64 vectors, unsigned* sink,
                                                              unsigned never) {
  read_all<false>(data, vectors, sink, never);
}

extern "C" __global__ void __launch_bounds__(512) judge_copy(const uint4* from, uint4* to, u64 vectors) {
  const u64 stride = u64(gridDim.x) * blockDim.x;
  u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + 3 * stride < vectors; i += 4 * stride) {
    uint4 x[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) x[k] = __ldcs(from + i + k * stride);
#pragma unroll
    for (int k = 0; k < 4; ++k) __stcs(to + i + k * stride, x[k]);
  }
  for (; i < vectors; i += stride) __stcs(to + i, __ldcs(from + i));
}

// 16 chains of 2 operations in each of `rounds` rounds of every thread.
extern "C" __global__ void __launch_bounds__(256) judge_f32(float* sink, int rounds, float a, float b) {
  float x[16];
#pragma unroll
  for (int k = 0; k < 16; ++k) x[k] = float(threadIdx.x + k);
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int k = 0; k < 16; ++k) x[k] = fmaf(x[k], a, b);
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 16; ++k) sum += x[k];
  if (sum == 12345.f) *sink = sum;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define FOUR(c, i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3])
#define SIXTEEN(c, i) FOUR(c, i), FOUR(c, i + 4), FOUR(c, i + 8), FOUR(c, i + 12)

// 16 products of 64 x 256 x 16 in 64 of `rounds` rounds of every four warps: a quarter of one for each round. What the
// right operand holds is the same everywhere, so no order of it matters.
extern "C" __global__ void __launch_bounds__(256) judge_f16(float* sink, int rounds) {
  __shared__ alignas(1024) unsigned right[256 * 64 / 2];  // 64 halves a row, 128-byte swizzle, 8 rows in 1 KB
  for (int i = threadIdx.x; i < 256 * 64 / 2; i += 256) right[i] = 0x2c012c02u;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float c[128] = {};
  const unsigned a = 0x3c003c00u + threadIdx.x % 128;
  const unsigned long long b = (static_cast<unsigned>(__cvta_generic_to_shared(right)) & 0x3ffff) >> 4 |
                               1ull << 16 | 64ull << 32 | 1ull << 62;
  for (int r = 0; r < rounds; r += 64) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      asm volatile(
          "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
          "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
          "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
          "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
          "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
          "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
          "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
          "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
          "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
          "}, {%128, %128, %128, %128}, %129, 1, 1, 1, 0;"
          : SIXTEEN(c, 0), SIXTEEN(c, 16), SIXTEEN(c, 32), SIXTEEN(c, 48), SIXTEEN(c, 64), SIXTEEN(c, 80),
            SIXTEEN(c, 96), SIXTEEN(c, 112)
          : "r"(a), "l"(b + 2 * (k % 4)));
    }
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 128; ++k) sum += c[k];
  if (sum == 12345.f) *sink = sum;
}
#else
// 8 products of 16 x 8 x 16 in each of `rounds` rounds of every warp.
extern "C" __global__ void __launch_bounds__(256) judge_f16(float* sink, int rounds) {
#if __CUDA_ARCH__ >= 800
  float c[8][4] = {};
  const unsigned a = 0x3c003c00u + threadIdx.x, b = 0x2c002c00u + threadIdx.x;
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};"
          : "+f"(c[k][0]), "+f"(c[k][1]), "+f"(c[k][2]), "+f"(c[k][3])
          : "r"(a), "r"(b));
    }
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) sum += c[k][0] + c[k][1] + c[k][2] + c[k][3];
  if (sum == 12345.f) *sink = sum;
#endif
}
#endif
