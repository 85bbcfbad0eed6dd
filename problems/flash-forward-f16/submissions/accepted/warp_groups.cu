// problem: flash-forward-f16
// needs-gpu: sm_90
// wgmma: two groups of four warps multiply 64 queries each from shared memory, a third one copies K and V ahead of them.
//
// Added over mma_32_queries.cu:
// - wgmma reads K and V from shared memory itself: no ldmatrix, no registers for fragments, and the full rate of the tensor
//   cores, of which mma.sync reaches two thirds. Weights stay in registers, as the left operand.
// - The scores of the next tile are multiplied while O takes the weights of this one, and softmax of the next tile runs
//   while O is still multiplied.
// - A group of warps of its own copies (cp.async) 32 KB tiles of K and V in turn into a ring of 6; mbarriers say what is
//   full and what is free. It gives its registers to the others (setmaxnreg).
// As there, O is rescaled only when a maximum passes what weights are measured against by a factor of 2^8. Not as there, causal
// rows come head by head, the order of mma_swizzled.cu.
// Shared memory is as wgmma's descriptors name it: panels of 64 halves (128 bytes) a row, 8 rows are 1 KB, and in each
// row columns of 16 bytes are exchanged by the row's number (128-byte swizzle). K is read along its rows, V across them.
// Predicted: 550 TFLOP/s full, 450 causal.
// Measured: H200, 16 heads, N = 8192, D = 128: 0.878 ms, 626 TFLOP/s; causal 0.492 ms, 559. N = 4096, D = 64, causal: 0.122
// ms, 282, slower than mma_32_queries.cu (294 to 297): the long rows of the last heads begin late, and a CTA begins and ends
// alone on its SM. persistent.cu mends both.
// @launch warp_groups<D><<<dim3(cdiv(N, kQueries), BH), 32 * kWarps, kAlign + (kQueries + kSlots * kKeys) * kWidth<D> * sizeof(__half)>>>(Q, K, V, O, N, scale, causal)
#include <cuda_fp16.h>
#include "common.cuh"

constexpr int kGroups = 2;                  // of four warps that multiply
constexpr int kWarps = 4 * (kGroups + 1);
constexpr int kQueries = 64 * kGroups;      // a CTA
constexpr int kKeys = 128;                  // a tile
constexpr int kSlots = 6;                   // tiles in the ring: K and V in turn
constexpr int kBehind = 2;                  // tiles asked for after the one that is waited for
constexpr int kAlign = 1024;                // bytes: where 8 swizzled rows begin
constexpr int kCopier = 40, kMultiplier = 232;  // registers a thread
constexpr float kSlack = 8.f;  // a maximum may pass what weights are measured against by so many powers of 2
constexpr float kLog2e = 1.4426950408889634f;
template <int D>
constexpr int kWidth = D < 64 ? 64 : D;     // halves of a row in shared memory; what is past D is 0

__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ unsigned pack(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const unsigned*>(&pair);
}

__device__ __forceinline__ void barrier_init(unsigned barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

__device__ __forceinline__ void barrier_arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Waits for the end of the phase with this parity.
__device__ __forceinline__ void barrier_wait(unsigned barrier, int parity) {
  asm volatile(
      "{\n.reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra over;\n"
      "bra again;\n"
      "over:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// What was written to shared memory becomes visible to wgmma.
__device__ __forceinline__ void publish_to_wgmma() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ void wgmma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Keeps the compiler from moving what uses or makes these values over the waits before and behind.
template <int kBlocks>
__device__ __forceinline__ void hold(float (&c)[kBlocks][4]) {
#pragma unroll
  for (int block = 0; block < kBlocks; ++block)
#pragma unroll
    for (int e = 0; e < 4; ++e) asm volatile("" : "+f"(c[block][e])::"memory");
}

// A matrix in shared memory, 128-byte swizzle, its groups of 8 rows 1 KB apart. panels: bytes from 64 columns to the
// next 64, for an operand that is read across its rows.
__device__ __forceinline__ uint64_t descriptor(unsigned address, unsigned panels) {
  return static_cast<uint64_t>((address & 0x3ffff) >> 4) | static_cast<uint64_t>(panels >> 4) << 16 |
         static_cast<uint64_t>(1024 >> 4) << 32 | 1ull << 62;
}

// c = a b, or c += a b where add is not 0: a 64 x 16 and b (turned) N x 16 in shared memory. c is of the warp group: warp
// w % 4 has the rows 16 (w % 4) and on, as of mma.sync. The other one: c += a b, a in registers, b 16 x N.
__device__ __forceinline__ void multiply_from_shared(float (&c)[8][4], uint64_t a, uint64_t b, int add) {
  asm volatile(
      "{\n.reg .pred add;\nsetp.ne.b32 add, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
      "}, %32, %33, add, 1, 1, 0, 0;\n}"
      : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]),
          "+f"(c[1][0]), "+f"(c[1][1]), "+f"(c[1][2]), "+f"(c[1][3]),
          "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]),
          "+f"(c[3][0]), "+f"(c[3][1]), "+f"(c[3][2]), "+f"(c[3][3]),
          "+f"(c[4][0]), "+f"(c[4][1]), "+f"(c[4][2]), "+f"(c[4][3]),
          "+f"(c[5][0]), "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]),
          "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]),
          "+f"(c[7][0]), "+f"(c[7][1]), "+f"(c[7][2]), "+f"(c[7][3])
      : "l"(a), "l"(b), "r"(add));
}

__device__ __forceinline__ void multiply_from_registers(float (&c)[8][4], const unsigned (&a)[4], uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
      "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
      : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]),
          "+f"(c[1][0]), "+f"(c[1][1]), "+f"(c[1][2]), "+f"(c[1][3]),
          "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]),
          "+f"(c[3][0]), "+f"(c[3][1]), "+f"(c[3][2]), "+f"(c[3][3]),
          "+f"(c[4][0]), "+f"(c[4][1]), "+f"(c[4][2]), "+f"(c[4][3]),
          "+f"(c[5][0]), "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]),
          "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]),
          "+f"(c[7][0]), "+f"(c[7][1]), "+f"(c[7][2]), "+f"(c[7][3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

__device__ __forceinline__ void multiply_from_shared(float (&c)[16][4], uint64_t a, uint64_t b, int add) {
  asm volatile(
      "{\n.reg .pred add;\nsetp.ne.b32 add, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, %64, %65, add, 1, 1, 0, 0;\n}"
      : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]),
          "+f"(c[1][0]), "+f"(c[1][1]), "+f"(c[1][2]), "+f"(c[1][3]),
          "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]),
          "+f"(c[3][0]), "+f"(c[3][1]), "+f"(c[3][2]), "+f"(c[3][3]),
          "+f"(c[4][0]), "+f"(c[4][1]), "+f"(c[4][2]), "+f"(c[4][3]),
          "+f"(c[5][0]), "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]),
          "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]),
          "+f"(c[7][0]), "+f"(c[7][1]), "+f"(c[7][2]), "+f"(c[7][3]),
          "+f"(c[8][0]), "+f"(c[8][1]), "+f"(c[8][2]), "+f"(c[8][3]),
          "+f"(c[9][0]), "+f"(c[9][1]), "+f"(c[9][2]), "+f"(c[9][3]),
          "+f"(c[10][0]), "+f"(c[10][1]), "+f"(c[10][2]), "+f"(c[10][3]),
          "+f"(c[11][0]), "+f"(c[11][1]), "+f"(c[11][2]), "+f"(c[11][3]),
          "+f"(c[12][0]), "+f"(c[12][1]), "+f"(c[12][2]), "+f"(c[12][3]),
          "+f"(c[13][0]), "+f"(c[13][1]), "+f"(c[13][2]), "+f"(c[13][3]),
          "+f"(c[14][0]), "+f"(c[14][1]), "+f"(c[14][2]), "+f"(c[14][3]),
          "+f"(c[15][0]), "+f"(c[15][1]), "+f"(c[15][2]), "+f"(c[15][3])
      : "l"(a), "l"(b), "r"(add));
}

__device__ __forceinline__ void multiply_from_registers(float (&c)[16][4], const unsigned (&a)[4], uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
      : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]),
          "+f"(c[1][0]), "+f"(c[1][1]), "+f"(c[1][2]), "+f"(c[1][3]),
          "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]),
          "+f"(c[3][0]), "+f"(c[3][1]), "+f"(c[3][2]), "+f"(c[3][3]),
          "+f"(c[4][0]), "+f"(c[4][1]), "+f"(c[4][2]), "+f"(c[4][3]),
          "+f"(c[5][0]), "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]),
          "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]),
          "+f"(c[7][0]), "+f"(c[7][1]), "+f"(c[7][2]), "+f"(c[7][3]),
          "+f"(c[8][0]), "+f"(c[8][1]), "+f"(c[8][2]), "+f"(c[8][3]),
          "+f"(c[9][0]), "+f"(c[9][1]), "+f"(c[9][2]), "+f"(c[9][3]),
          "+f"(c[10][0]), "+f"(c[10][1]), "+f"(c[10][2]), "+f"(c[10][3]),
          "+f"(c[11][0]), "+f"(c[11][1]), "+f"(c[11][2]), "+f"(c[11][3]),
          "+f"(c[12][0]), "+f"(c[12][1]), "+f"(c[12][2]), "+f"(c[12][3]),
          "+f"(c[13][0]), "+f"(c[13][1]), "+f"(c[13][2]), "+f"(c[13][3]),
          "+f"(c[14][0]), "+f"(c[14][1]), "+f"(c[14][2]), "+f"(c[14][3]),
          "+f"(c[15][0]), "+f"(c[15][1]), "+f"(c[15][2]), "+f"(c[15][3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// Asks for kRows rows of a [n, D] matrix from `first` on, zeros past its end, with 128 threads.
template <int D, int kRows>
__device__ __forceinline__ void ask(unsigned tile, const __half* matrix, int first, int n) {
  constexpr int kColumns = D / 8, kAtOnce = 128 / kColumns;  // a multiple of 8 rows: a thread keeps its swizzled column
  const int column = threadIdx.x % kColumns, begin = threadIdx.x % 128 / kColumns;
  const unsigned to = tile + column / 8 * (kRows * 128) + begin * 128 + 16 * (column % 8 ^ begin % 8);
  const __half* from = matrix + static_cast<size_t>(first + begin) * D + 8 * column;
#pragma unroll
  for (int i = 0; i < kRows / kAtOnce; ++i) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + i * kAtOnce * 128),
                 "l"(from + i * kAtOnce * D), "r"(first + begin + i * kAtOnce < n ? 16 : 0)
                 : "memory");
  }
}

template <int D>
__global__ void __launch_bounds__(32 * kWarps, 1)
warp_groups(const __half* __restrict__ Q, const __half* __restrict__ K, const __half* __restrict__ V,
            __half* __restrict__ O, int N, float scale, bool causal) {
  constexpr int kRowBytes = kWidth<D> * 2, kTileBytes = kKeys * kRowBytes;
  constexpr int kPanel = kKeys * 128, kQueryPanel = kQueries * 128;
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ __align__(8) uint64_t barriers[2 * kSlots];
  const unsigned q_tile = (static_cast<unsigned>(__cvta_generic_to_shared(memory)) + kAlign - 1) / kAlign * kAlign;
  const unsigned ring = q_tile + kQueries * kRowBytes;
  const unsigned full = static_cast<unsigned>(__cvta_generic_to_shared(barriers)), free = full + 8 * kSlots;
  const size_t head = static_cast<size_t>(blockIdx.y) * N * D;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = threadIdx.x / 128;
  const int first_query = (causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * kQueries;
  const int key_end = causal ? min(N, first_query + kQueries) : N;
  const int tiles = (key_end + kKeys - 1) / kKeys;

  if (D < kWidth<D>) {
    for (unsigned at = 16 * threadIdx.x; at < kQueries * kRowBytes + kSlots * kTileBytes; at += 16 * 32 * kWarps) {
      asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(q_tile + at), "r"(0) : "memory");
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < kSlots; ++slot) {
      barrier_init(full + 8 * slot, 128);
      barrier_init(free + 8 * slot, 4 * kGroups);
    }
  }
  if (group == kGroups) {
    ask<D, kQueries>(q_tile, Q + head, first_query, N);
    asm volatile("cp.async.wait_all;" ::: "memory");
  }
  publish_to_wgmma();
  __syncthreads();

  if (group == kGroups) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCopier));
    // Tile i of the ring is of K where i is even, of V where it is odd.
    int slot = 0, parity = 1, told = 0;
    for (int i = 0; i < 2 * tiles; ++i) {
      barrier_wait(free + 8 * slot, parity);
      ask<D, kKeys>(ring + slot * kTileBytes, (i % 2 == 0 ? K : V) + head, i / 2 * kKeys, N);
      asm volatile("cp.async.commit_group;" ::: "memory");
      if (++slot == kSlots) {
        slot = 0;
        parity ^= 1;
      }
      if (i >= kBehind) {
        asm volatile("cp.async.wait_group %0;" ::"n"(kBehind) : "memory");
        publish_to_wgmma();
        barrier_arrive(full + 8 * told);
        told = told + 1 == kSlots ? 0 : told + 1;
      }
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    publish_to_wgmma();
    for (int i = max(2 * tiles - kBehind, 0); i < 2 * tiles; ++i) {
      barrier_arrive(full + 8 * told);
      told = told + 1 == kSlots ? 0 : told + 1;
    }
    return;
  }

  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kMultiplier));
  const float factor = scale * kLog2e;
  const int first_row = first_query + 64 * group + warp % 4 * 16 + lane / 4;  // and 8 below
  int slot = 0, parity = 0;
  auto advance = [&] {
    if (++slot == kSlots) {
      slot = 0;
      parity ^= 1;
    }
  };
  auto release = [&](int used) {
    __syncwarp();
    if (lane == 0) barrier_arrive(free + 8 * used);
  };
  float o[kWidth<D> / 8][4], s[kKeys / 8][4], m[2] = {-INFINITY, -INFINITY}, l[2] = {0.f, 0.f};
  unsigned p[kKeys / 16][4];
#pragma unroll
  for (int block = 0; block < kWidth<D> / 8; ++block)
#pragma unroll
    for (int e = 0; e < 4; ++e) o[block][e] = 0.f;

  auto multiply_scores = [&](unsigned k_tile) {
    const unsigned q_rows = q_tile + group * 64 * 128;
#pragma unroll
    for (int step = 0; step < kWidth<D> / 16; ++step) {
      multiply_from_shared(s, descriptor(q_rows + step / 4 * kQueryPanel + step % 4 * 32, 16),
                           descriptor(k_tile + step / 4 * kPanel + step % 4 * 32, 16), step);
    }
  };
  auto multiply_weights = [&](unsigned v_tile) {
#pragma unroll
    for (int step = 0; step < kKeys / 16; ++step) {
      multiply_from_registers(o, p[step], descriptor(v_tile + step * 16 * 128, kPanel));
    }
  };
  // Scores become weights in s. Says whether, and by how much, what was summed before is to be corrected.
  float correction[2];
  auto weigh = [&](int first) {
    if (first + kKeys > N || (causal && first + kKeys > first_query + 64 * group)) {
#pragma unroll
      for (int block = 0; block < kKeys / 8; ++block)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int key = first + 8 * block + lane % 4 * 2 + e % 2;
          if (key >= N || (causal && key > first_row + e / 2 * 8)) s[block][e] = -INFINITY;
        }
    }
    bool raised = false;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float top = s[0][2 * half];
#pragma unroll
      for (int block = 0; block < kKeys / 8; ++block) top = fmaxf(top, fmaxf(s[block][2 * half], s[block][2 * half + 1]));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2)) * factor;
      const bool above = top > m[half] + kSlack;  // at first: every query sees key 0
      const float base = above ? top : m[half];
      correction[half] = exp2_fast(m[half] - base);
      m[half] = base;
      float sum = l[half] * correction[half];
#pragma unroll
      for (int block = 0; block < kKeys / 8; ++block)
#pragma unroll
        for (int e = 2 * half; e < 2 * half + 2; ++e) {
          s[block][e] = exp2_fast(fmaf(s[block][e], factor, -base));
          sum += s[block][e];
        }
      l[half] = sum;
      raised |= above;
    }
    return __any_sync(0xffffffffu, raised);
  };
  auto pack_weights = [&] {
#pragma unroll
    for (int step = 0; step < kKeys / 16; ++step)
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        const float* pair = &s[2 * step + part / 2][part % 2 * 2];
        p[step][part] = pack(pair[0], pair[1]);
      }
  };

  barrier_wait(full + 8 * slot, parity);
  wgmma_begin();
  multiply_scores(ring + slot * kTileBytes);
  wgmma_commit();
  wgmma_wait<0>();
  hold(s);
  release(slot);
  advance();
  weigh(0);
  pack_weights();
  barrier_wait(full + 8 * slot, parity);
  for (int tile = 1; tile < tiles; ++tile) {
    const int of_v = slot;
    advance();
    barrier_wait(full + 8 * slot, parity);
    wgmma_begin();
    multiply_scores(ring + slot * kTileBytes);
    wgmma_commit();
    multiply_weights(ring + of_v * kTileBytes);
    wgmma_commit();
    wgmma_wait<1>();
    hold(s);
    release(slot);
    advance();
    const bool raised = weigh(tile * kKeys);
    hold(s);
    barrier_wait(full + 8 * slot, parity);  // here, since it parts softmax from the wait for O
    wgmma_wait<0>();
    hold(o);
    release(of_v);
    if (raised) {
#pragma unroll
      for (int block = 0; block < kWidth<D> / 8; ++block)
#pragma unroll
        for (int e = 0; e < 4; ++e) o[block][e] *= correction[e / 2];
    }
    pack_weights();
  }
  wgmma_begin();
  multiply_weights(ring + slot * kTileBytes);
  wgmma_commit();
  wgmma_wait<0>();
  hold(o);

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = l[half];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    const int query = first_row + 8 * half;
    const float inverse = 1.f / sum;
    if (query < N) {
      __half* to = O + head + static_cast<size_t>(query) * D + lane % 4 * 2;
#pragma unroll
      for (int block = 0; block < D / 8; ++block) {
        *reinterpret_cast<unsigned*>(to + 8 * block) =
            pack(o[block][2 * half] * inverse, o[block][2 * half + 1] * inverse);
      }
    }
  }
}
