// Inline PTX: scopes with their own registers and labels, predicates, vectors, special registers, lop3.
extern "C" __global__ void inline_asm(const unsigned* in, unsigned* out) {
  unsigned t, v = in[threadIdx.x], r;
  asm("mov.u32 %0, %%tid.x;" : "=r"(t));
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r) : "r"(v), "r"(t), "r"(0x0f0f0f0fu));
  out[t * 8] = r;
  asm("{\n\t"
      ".reg .pred p<2>;\n\t"
      ".reg .u32 tmp;\n\t"
      "setp.lt.u32 p0|p1, %1, 100;\n\t"
      "mov.u32 tmp, 7;\n\t"
      "@p0 add.u32 tmp, tmp, %1;\n\t"
      "@!p0 sub.u32 tmp, %1, tmp;\n\t"
      "mov.u32 %0, tmp;\n\t"
      "}"
      : "=r"(r)
      : "r"(v));
  out[t * 8 + 1] = r;
  asm volatile("{\n\t"
               ".reg .pred q;\n\t"
               "mov.u32 %0, 0;\n\t"
               "LOOP:\n\t"
               "add.u32 %0, %0, 1;\n\t"
               "setp.lt.u32 q, %0, %1;\n\t"
               "@q bra LOOP;\n\t"
               "}"
               : "=&r"(r)
               : "r"(v & 7));
  out[t * 8 + 2] = r;
  unsigned long long pair;
  asm("mov.b64 %0, {%1, %2};" : "=l"(pair) : "r"(v), "r"(t));
  unsigned low, high;
  asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(pair));
  out[t * 8 + 3] = low + high;
  asm("{ .reg .u16 l, h; mov.b32 {l, h}, %1; mov.b32 %0, {h, l}; }" : "=r"(r) : "r"(v));
  out[t * 8 + 4] = r;
  asm("bfe.u32 %0, %1, 4, 8;" : "=r"(r) : "r"(v));
  out[t * 8 + 5] = r;
  asm("add.cc.u32 %0, %2, %3; addc.u32 %1, 0, 0;" : "=r"(low), "=r"(high) : "r"(v), "r"(0xf0000000u));
  out[t * 8 + 6] = low ^ high;
  asm("prmt.b32 %0, %1, %2, 0x3210; bfi.b32 %0, %0, %1, 8, 4;" : "=&r"(r) : "r"(v), "r"(t));
  out[t * 8 + 7] = r;
}

extern "C" __global__ void inline_memory(const float* in, float* out) {
  float a, b, c, d;
  asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(in + 4 * threadIdx.x));
  asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(out + 4 * threadIdx.x), "f"(d), "f"(c) : "memory");
  asm volatile("st.global.cs.f32 [%0+8], %1; st.global.f32 [%0 + 12], %2;" ::"l"(out + 4 * threadIdx.x), "f"(b), "f"(a) : "memory");
}
