// mma.sync of every type with fragments filled by hand, and the matrix moves of a warp. No header is needed.
__device__ __forceinline__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void store_fragment(float* c, int stride, const float (&d)[4]) {
  int row = threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
  c[row * stride + column] = d[0], c[row * stride + column + 1] = d[1];
  c[(row + 8) * stride + column] = d[2], c[(row + 8) * stride + column + 1] = d[3];
}

// bfloat16: a warp 16 x 8, A by rows and B by columns, words of two read straight from memory.
extern "C" __global__ void mma_bf16(const unsigned* a, const unsigned* b, float* c, int words) {
  int g = threadIdx.x / 4, p = threadIdx.x % 4;
  float d[4] = {};
  a += blockIdx.x * 16 * words;
  for (int k = 0; k < words; k += 8)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[g * words + k + p]), "r"(a[(g + 8) * words + k + p]), "r"(a[g * words + k + p + 4]),
                   "r"(a[(g + 8) * words + k + p + 4]), "r"(b[g * words + k + p]), "r"(b[g * words + k + p + 4]));
  store_fragment(c + blockIdx.x * 16 * 8, 8, d);
}

__device__ __forceinline__ unsigned tf32(float v) {
  unsigned u;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(u) : "f"(v));
  return u;
}

// A float as two tf32 terms: three products give nearly the precision of float.
extern "C" __global__ void mma_tf32_split(const float* a, const float* b, float* c, int k) {
  int g = threadIdx.x / 4, p = threadIdx.x % 4;
  float d[4] = {};
  for (int i = 0; i < k; i += 8) {
    float fa[4] = {a[g * k + i + p], a[(g + 8) * k + i + p], a[g * k + i + p + 4], a[(g + 8) * k + i + p + 4]};
    float fb[2] = {b[g * k + i + p], b[g * k + i + p + 4]};
    unsigned ha[4], la[4], hb[2], lb[2];
    for (int e = 0; e < 4; ++e) ha[e] = tf32(fa[e]), la[e] = tf32(fa[e] - __uint_as_float(ha[e]));
    for (int e = 0; e < 2; ++e) hb[e] = tf32(fb[e]), lb[e] = tf32(fb[e] - __uint_as_float(hb[e]));
    auto multiply = [&](const unsigned(&x)[4], const unsigned(&y)[2]) {
      asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                   : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                   : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    };
    multiply(la, hb), multiply(ha, lb), multiply(ha, hb);
  }
  store_fragment(c, 8, d);
}

extern "C" __global__ void mma_double(const double* a, const double* b, double* c, int k) {
  int g = threadIdx.x / 4, p = threadIdx.x % 4;
  double x = 0, y = 0;
  for (int i = 0; i < k; i += 4)
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(x), "+d"(y) : "d"(a[g * k + i + p]), "d"(b[g * k + i + p]));
  reinterpret_cast<double2*>(c)[g * 4 + p] = make_double2(x, y);
}

// Eight bits of both kinds: A signed, B unsigned; the sums wrap nowhere.
extern "C" __global__ void mma_mixed_bytes(const int* a, const unsigned* b, int* c, int words) {
  int g = threadIdx.x / 4, p = threadIdx.x % 4, d[4] = {};
  for (int k = 0; k < words; k += 4)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[g * words + k + p]), "r"(a[(g + 8) * words + k + p]), "r"(b[g * words + k + p]));
  *(int2*)(c + g * 8 + p * 2) = make_int2(d[0], d[1]);
  *(int2*)(c + (g + 8) * 8 + p * 2) = make_int2(d[2], d[3]);
}

extern "C" __global__ void mma_fp8(const unsigned* a, const unsigned* b, float* c) {
  int g = threadIdx.x / 4, p = threadIdx.x % 4;
  float d[4] = {};
  asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[g * 8 + p]), "r"(a[(g + 8) * 8 + p]), "r"(a[g * 8 + p + 4]), "r"(a[(g + 8) * 8 + p + 4]),
                 "r"(b[g * 8 + p]), "r"(b[g * 8 + p + 4]));
  store_fragment(c, 8, d);
}

// Half accumulators, stored by stmatrix to shared memory and copied out in 16 bytes.
extern "C" __global__ void mma_half_stored(const unsigned* a, const unsigned* b, uint4* c, int words) {
  __shared__ __align__(16) unsigned short tile[16][16];
  int lane = threadIdx.x, g = lane / 4, p = lane % 4;
  unsigned d[2][2] = {};
  for (int k = 0; k < words; k += 8)
    for (int side = 0; side < 2; ++side) {
      const unsigned* column = b + (side * 8 + g) * words + k + p;
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                   : "+r"(d[side][0]), "+r"(d[side][1])
                   : "r"(a[g * words + k + p]), "r"(a[(g + 8) * words + k + p]), "r"(a[g * words + k + p + 4]),
                     "r"(a[(g + 8) * words + k + p + 4]), "r"(column[0]), "r"(column[4]));
    }
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(at(&tile[lane % 16][lane / 16 * 8])),
               "r"(d[0][0]), "r"(d[0][1]), "r"(d[1][0]), "r"(d[1][1]) : "memory");
  __syncwarp();
  c[lane] = *reinterpret_cast<uint4*>(&tile[lane / 2][lane % 2 * 8]);
}

// An 8 x 8 matrix of 16 bits is turned in registers, and once more by ldmatrix.trans.
extern "C" __global__ void matrix_moves(const unsigned* x, unsigned* turned, unsigned* back) {
  __shared__ __align__(16) unsigned rows[8][4];
  int lane = threadIdx.x;
  unsigned v = x[lane], w;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(w) : "r"(v));
  turned[lane] = w;
  rows[lane / 4][lane % 4] = w;
  __syncwarp();
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(v) : "r"(at(rows[lane % 8])));
  back[lane] = v;
}

// A producer warp copies, consumers multiply; two mbarriers a stage say full and free.
extern "C" __global__ void row_sums_mbarrier(const int* x, int* out, int tiles) {
  __shared__ int stage[2][64];
  __shared__ __align__(8) unsigned long long full[2], empty[2];
  int t = threadIdx.x;
  if (t == 0)
    for (int s = 0; s < 2; ++s) {
      asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(at(full + s)) : "memory");
      asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(at(empty + s)) : "memory");
    }
  __syncthreads();
  auto arrive = [](unsigned long long* barrier) {
    asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" ::"r"(at(barrier)) : "memory");
  };
  auto wait = [](unsigned long long* barrier, int parity) {
    int done;
    do asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.s32 %0, 1, 0, p; }"
                    : "=r"(done) : "r"(at(barrier)), "r"(parity) : "memory");
    while (!done);
  };
  if (t < 32) {
    for (int i = 0; i < tiles; ++i) {
      int s = i % 2;
      if (i >= 2) wait(empty + s, (i / 2 - 1) & 1);
      stage[s][t] = x[i * 64 + t], stage[s][t + 32] = x[i * 64 + t + 32];
      arrive(full + s);
    }
  } else {
    int sum = 0;
    for (int i = 0; i < tiles; ++i) {
      int s = i % 2;
      wait(full + s, i / 2 & 1);
      sum += stage[s][t - 32] * (i + 1);
      arrive(empty + s);
    }
    out[t - 32] = sum;
  }
}
