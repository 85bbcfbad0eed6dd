// Instructions that need asm: memory with an order and hints, reductions without an answer, bits and floats in detail.

// Message passing: data, then a flag stored with release; the reader acquires.
extern "C" __global__ void release_acquire(const int* x, int* box, int* flag, int* out) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    box[t] = x[t] * 3;
    __syncthreads();
    if (t == 0) asm volatile("st.release.gpu.global.s32 [%0], 1;" ::"l"(flag) : "memory");
  } else {
    if (t == 0) {
      int seen;
      do asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
      while (!seen);
    }
    __syncthreads();
    out[t] = box[blockDim.x - 1 - t];
  }
}

extern "C" __global__ void memory_hints(const float* x, float* out, double* total, unsigned* marks) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a, b, c, d;
  asm volatile("prefetch.global.L2 [%0];" ::"l"(x + i * 4));
  asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(x + i * 4));
  asm volatile("st.global.cs.v2.f32 [%0], {%1,%2};" ::"l"(out + i * 4), "f"(d), "f"(c) : "memory");
  asm volatile("st.global.wt.v2.f32 [%0+8], {%1,%2};" ::"l"(out + i * 4), "f"(b), "f"(a) : "memory");
  asm volatile("red.relaxed.gpu.global.add.f64 [%0], %1;" ::"l"(total), "d"((double)a + d) : "memory");
  asm volatile("red.global.or.b32 [%0], %1;" ::"l"(marks), "r"(1u << i % 32) : "memory");
  asm volatile("red.global.max.u32 [%0+4], %1;" ::"l"(marks), "r"(i) : "memory");
}

// Policies tell a GPU's L2 what to keep; what is loaded, stored, copied and added stays what it is.
extern "C" __global__ void cache_policies(const float4* x, float4* out, float* sums) {
  __shared__ float4 tile[3][32];
  const int i = threadIdx.x;
  unsigned long long first, last, some, range;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first));
  asm("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %0, 0.25;" : "=l"(some));
  asm("createpolicy.fractional.L2::evict_last.b64 %0;" : "=l"(last));
  asm("createpolicy.range.global.L2::evict_last.L2::evict_first.b64 %0, [%1], %2, %3;"
      : "=l"(range) : "l"(x), "r"(512), "r"(1024));
  asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(x));
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&tile[0][i]));
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(to), "l"(x + i), "l"(first) : "memory");
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;"
               ::"r"(to + 512), "l"(x + i), "r"(4 * (i % 5)), "l"(some) : "memory");
  asm volatile("cp.async.cg.shared.global.L2::cache_hint.L2::128B [%0], [%1], 16, 0, %2;"
               ::"r"(to + 1024), "l"(x + i), "l"(last) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  float a;
  asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(a) : "l"(x + 31 - i), "l"(range));
  for (int k = 0; k < 3; ++k) out[32 * k + i] = tile[k][i];
  asm volatile("st.global.L2::cache_hint.f32 [%0], %1, %2;" ::"l"(sums + i), "f"(a), "l"(first) : "memory");
  asm volatile("red.global.L2::cache_hint.add.f32 [%0], %1, %2;" ::"l"(sums + 32), "f"(1.f), "l"(first) : "memory");
  float before;
  asm volatile("atom.global.L2::cache_hint.add.f32 %0, [%1], %2, %3;"
               : "=f"(before) : "l"(sums + 33), "f"(2.f), "l"(some) : "memory");
  asm volatile("atom.global.exch.L2::cache_hint.b32 %0, [%1], %2, %3;"
               : "=f"(before) : "l"(sums + 34 + i / 16), "f"(1.f + i / 16), "l"(last) : "memory");
  asm volatile("st.global.L2::cache_hint.v2.f32 [%0], {%1, %2}, %3;" ::"l"(sums + 36 + 2 * i), "f"(a), "f"(-a), "l"(last) : "memory");
}

extern "C" __global__ void bits_in_detail(const unsigned* x, int* out) {
  unsigned v = x[threadIdx.x];
  int *row = out + threadIdx.x * 8, r[8];
  asm("bfind.u32 %0, %1;" : "=r"(r[0]) : "r"(v));
  asm("bfind.shiftamt.s32 %0, %1;" : "=r"(r[1]) : "r"(v));
  asm("bfe.s32 %0, %1, 5, 11;" : "=r"(r[2]) : "r"(v));
  asm("bfi.b32 %0, %1, 0, 9, 13;" : "=r"(r[3]) : "r"(v));
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r[4]) : "r"(v), "r"(v >> 7), "r"(0x0f0f0f0f));
  asm("prmt.b32.rc8 %0, %1, 0, 2;" : "=r"(r[5]) : "r"(v));
  asm("szext.wrap.s32 %0, %1, 12;" : "=r"(r[6]) : "r"(v));
  asm("bmsk.clamp.b32 %0, %1, 7;" : "=r"(r[7]) : "r"(v & 31));
  for (int k = 0; k < 8; ++k) row[k] = r[k];
}

// Rounding, saturation and flushing where the instruction says so.
extern "C" __global__ void floats_in_detail(const float* x, float* out) {
  float v = x[threadIdx.x], *row = out + threadIdx.x * 8, r[8];
  asm("add.rz.f32 %0, %1, 0f3f800001;" : "=f"(r[0]) : "f"(v));
  asm("mul.rp.f32 %0, %1, %1;" : "=f"(r[1]) : "f"(v));
  asm("fma.rn.sat.f32 %0, %1, 0f3f000000, 0f3f000000;" : "=f"(r[2]) : "f"(v));
  asm("cvt.rni.f32.f32 %0, %1;" : "=f"(r[3]) : "f"(v));
  asm("copysign.f32 %0, %1, 0f40400000;" : "=f"(r[4]) : "f"(v));
  asm("{ .reg .s32 i; cvt.rzi.s32.f32 i, %1; cvt.rn.f32.s32 %0, i; }" : "=f"(r[5]) : "f"(v));
  asm("min.NaN.f32 %0, %1, 0f3e800000;" : "=f"(r[6]) : "f"(v));
  asm("{ .reg .pred p, q; setp.gt.and.f32 p|q, %1, 0f00000000, 1; selp.f32 %0, 0f3f800000, 0fbf800000, p; @q neg.f32 %0, 0f40000000; }"
      : "=f"(r[7]) : "f"(v));
  for (int k = 0; k < 8; ++k) row[k] = r[k];
}

// Halves as bits in registers, without the header: packed fma, relu, conversion of two at once.
extern "C" __global__ void packed_halves(const unsigned* x, unsigned* out, float2* wide) {
  unsigned v = x[threadIdx.x], r, s;
  asm("fma.rn.f16x2 %0, %1, %1, %1;" : "=r"(r) : "r"(v));
  asm("{ .reg .b32 z; mov.b32 z, 0; max.f16x2 %0, %1, z; }" : "=r"(s) : "r"(v));
  float low, high;
  asm("{ .reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h; }" : "=f"(low), "=f"(high) : "r"(r));
  asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(low), "f"(high));
  out[threadIdx.x * 2] = r, out[threadIdx.x * 2 + 1] = s;
  wide[threadIdx.x] = make_float2(low, high);
}

// A cluster of the block alone: its own shared memory under another name, its barrier, one elected lane.
extern "C" __global__ void cluster_of_one(const int* x, int* out) {
  __shared__ int box[64];
  int t = threadIdx.x, v;
  unsigned rank, mine = (unsigned)__cvta_generic_to_shared(box + t), there, leader;
  box[t] = x[t];
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"((unsigned)__cvta_generic_to_shared(box + (t ^ 1))), "r"(rank));
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(there) : "memory");
  asm volatile("{ .reg .pred p; .reg .b32 who; elect.sync who|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(leader));
  out[t] = v + (int)rank + (int)leader * 1000 + (int)(mine & 3);
}

// Indirect branches: a switch as a table of labels.
extern "C" __global__ void branch_table(const int* x, int* out) {
  int v = x[threadIdx.x], r;
  asm volatile("{\n\t.reg .u32 index;\n\tand.b32 index, %1, 3;\n\t"
               "ways: .branchtargets W0, W1, W2, W3;\n\t"
               "brx.idx index, ways;\n\t"
               "W0: add.s32 %0, %1, 100;\n\tbra.uni OVER;\n\t"
               "W1: mul.lo.s32 %0, %1, %1;\n\tbra.uni OVER;\n\t"
               "W2: neg.s32 %0, %1;\n\tbra.uni OVER;\n\t"
               "W3: mov.s32 %0, -1;\n\t"
               "OVER:\n\t}" : "=r"(r) : "r"(v));
  out[threadIdx.x] = r;
}
