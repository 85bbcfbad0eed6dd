// Integer arithmetic: products, division, remainders, saturation, dot products of bytes.
extern "C" __global__ void integer_math(const int* a, const int* b, int* out) {
  int t = threadIdx.x, x = a[t], y = b[t];
  unsigned ux = x, uy = y;
  int* row = out + t * 20;
  row[0] = x * y;
  row[1] = __mulhi(x, y);
  row[2] = __umulhi(ux, uy);
  row[3] = __mul24(x, y);
  row[4] = y ? x / y : 0;
  row[5] = y ? x % y : 0;
  row[6] = uy ? ux / uy : 0;
  row[7] = uy ? ux % uy : 0;
  row[8] = x / 7;
  row[9] = ux % 10;
  row[10] = min(x, y);
  row[11] = max(ux, uy);
  row[12] = abs(x);
  row[13] = __sad(x, y, 5);
  asm("dp4a.s32.u32 %0, %1, %2, 3;" : "=r"(row[14]) : "r"(x), "r"(y));
  row[15] = __hadd(x, y);
  row[16] = __rhadd(x, y);
  row[17] = (signed char)x + (short)y;
  row[18] = x * 12 + y;
  row[19] = (x < y) + (ux < uy) * 2 + (x == y) * 4;
}

extern "C" __global__ void integer_math64(const long long* a, const long long* b, long long* out) {
  int t = threadIdx.x;
  long long x = a[t], y = b[t];
  long long* row = out + t * 10;
  row[0] = x * y;
  row[1] = __mul64hi(x, y);
  row[2] = (long long)__umul64hi(x, y);
  row[3] = y ? x / y : 0;
  row[4] = y ? x % y : 0;
  row[5] = y ? (long long)((unsigned long long)x / (unsigned long long)y) : 0;
  row[6] = llabs(x);
  row[7] = x << (y & 63);
  row[8] = x >> (y & 63);
  row[9] = (long long)(int)x * (int)y + (x > y);
}
