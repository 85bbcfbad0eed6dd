// Bit intrinsics on 32 and 64 bits.
extern "C" __global__ void bits(const unsigned* in, const unsigned long long* in64, unsigned* out) {
  int t = threadIdx.x;
  unsigned v = in[t], u = in[t + 1];
  unsigned long long w = in64[t];
  unsigned* row = out + t * 16;
  row[0] = __popc(v);
  row[1] = __clz(v);
  row[2] = __ffs(v);
  row[3] = __brev(v);
  row[4] = __byte_perm(v, u, 0x5140);
  row[5] = __funnelshift_l(v, u, 7);
  row[6] = __funnelshift_r(v, u, 41);
  row[7] = __funnelshift_lc(v, u, 40);
  row[8] = __popcll(w);
  row[9] = __clzll(w);
  row[10] = __ffsll(w);
  row[11] = (unsigned)(__brevll(w) >> 32);
  row[12] = v << (u & 63);
  row[13] = v >> (u & 31);
  row[14] = (int)v >> 3;
  row[15] = (v & u) ^ (v | ~u);
}
