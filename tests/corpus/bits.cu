// Integers and bits: checksums, codes, wide arithmetic, and instructions that words of the language hide.
__constant__ unsigned nibbles[16] = {
    0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
    0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};

extern "C" __global__ void crc32_lines(const unsigned char* text, const int* starts, unsigned* out, int lines) {
  int l = blockIdx.x * blockDim.x + threadIdx.x;
  if (l >= lines) return;
  unsigned crc = ~0u;
  for (int i = starts[l]; i < starts[l + 1]; ++i) {
    crc ^= text[i];
    crc = nibbles[crc & 15] ^ crc >> 4;
    crc = nibbles[crc & 15] ^ crc >> 4;
  }
  out[l] = ~crc;
}

// Three bytes to four letters; the last group is padded.
extern "C" __global__ void base64_encode(const unsigned char* x, char* out, int n) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  int g = blockIdx.x * blockDim.x + threadIdx.x;
  if (3 * g >= n) return;
  unsigned word = 0;
  for (int k = 0; k < 3; ++k) word = word << 8 | (3 * g + k < n ? x[3 * g + k] : 0);
  for (int k = 0; k < 4; ++k) out[4 * g + k] = 3 * g + k > n ? '=' : letters[word >> (18 - 6 * k) & 63];
}

__device__ __forceinline__ unsigned turn(unsigned v, int by) { return __funnelshift_r(v, v, by); }

// The message schedule of SHA-256, a ring of sixteen words in local memory; its last sixteen come out.
extern "C" __global__ void sha256_schedule(const unsigned* message, unsigned* out) {
  unsigned w[16];
  for (int i = 0; i < 16; ++i) w[i] = __byte_perm(message[threadIdx.x * 16 + i], 0, 0x0123);
  for (int i = 16; i < 64; ++i) {
    unsigned a = w[(i + 1) & 15], b = w[(i + 14) & 15];
    w[i & 15] += (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[(i + 9) & 15] + (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
  }
  for (int i = 0; i < 16; ++i) out[threadIdx.x * 16 + i] = w[i];
}

// A square of 32 x 32 bits turned over by ballots: lane k keeps column k.
extern "C" __global__ void transpose_bits(const unsigned* x, unsigned* out) {
  unsigned row = x[blockIdx.x * 32 + threadIdx.x], column = 0;
  for (int k = 0; k < 32; ++k) {
    unsigned vote = __ballot_sync(~0u, row >> k & 1);
    if (threadIdx.x == k) column = vote;
  }
  out[blockIdx.x * 32 + threadIdx.x] = column;
}

__device__ unsigned spread(unsigned v) {
  v = (v | v << 8) & 0x00ff00ff, v = (v | v << 4) & 0x0f0f0f0f, v = (v | v << 2) & 0x33333333;
  return (v | v << 1) & 0x55555555;
}

extern "C" __global__ void morton_and_gray(const ushort2* x, uint4* out) {
  ushort2 v = x[threadIdx.x];
  unsigned code = spread(v.x) | spread(v.y) << 1, gray = code ^ code >> 1, back = gray;
  for (int d = 16; d > 0; d >>= 1) back ^= back >> d;
  out[threadIdx.x] = make_uint4(code, gray, back, __popc(gray) & 1);
}

extern "C" __global__ void bit_counts(const unsigned long long* x, int* out) {
  unsigned long long v = x[threadIdx.x];
  int* row = out + threadIdx.x * 8;
  row[0] = __popcll(v), row[1] = __clzll((long long)v), row[2] = __ffsll((long long)v), row[3] = __popc((unsigned)v);
  row[4] = __clz((int)v), row[5] = __ffs((int)v), row[6] = (int)(__brevll(v) >> 40), row[7] = __fns((unsigned)v, 31, -2);
}

// 128 bits by carry chains; schoolbook products of four limbs a number.
extern "C" __global__ void big_multiply(const uint4* a, const uint4* b, unsigned* out) {
  unsigned p[4] = {a[threadIdx.x].x, a[threadIdx.x].y, a[threadIdx.x].z, a[threadIdx.x].w};
  unsigned q[4] = {b[threadIdx.x].x, b[threadIdx.x].y, b[threadIdx.x].z, b[threadIdx.x].w}, r[8] = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    asm("mad.lo.cc.u32 %0, %5, %6, %0;\n\t"
        "madc.lo.cc.u32 %1, %5, %7, %1;\n\t"
        "madc.lo.cc.u32 %2, %5, %8, %2;\n\t"
        "madc.lo.cc.u32 %3, %5, %9, %3;\n\t"
        "addc.u32 %4, %4, 0;"
        : "+r"(r[i]), "+r"(r[i + 1]), "+r"(r[i + 2]), "+r"(r[i + 3]), "+r"(r[i + 4])
        : "r"(p[i]), "r"(q[0]), "r"(q[1]), "r"(q[2]), "r"(q[3]));
    asm("mad.hi.cc.u32 %0, %4, %5, %0;\n\t"
        "madc.hi.cc.u32 %1, %4, %6, %1;\n\t"
        "madc.hi.cc.u32 %2, %4, %7, %2;\n\t"
        "madc.hi.u32 %3, %4, %8, %3;"
        : "+r"(r[i + 1]), "+r"(r[i + 2]), "+r"(r[i + 3]), "+r"(r[i + 4])
        : "r"(p[i]), "r"(q[0]), "r"(q[1]), "r"(q[2]), "r"(q[3]));
  }
  for (int i = 0; i < 8; ++i) out[threadIdx.x * 8 + i] = r[i];
}

// Powers modulo a prime of 61 bits; the product's halves are folded.
extern "C" __global__ void power_modulo(const unsigned long long* base, const unsigned* exponent, unsigned long long* out) {
  const unsigned long long prime = (1ull << 61) - 1;
  auto product = [=](unsigned long long a, unsigned long long b) {
    unsigned long long low = a * b, high = __umul64hi(a, b), sum = (low & prime) + (low >> 61 | high << 3);
    sum = (sum & prime) + (sum >> 61);
    return sum >= prime ? sum - prime : sum;
  };
  unsigned long long result = 1, square = base[threadIdx.x] % prime;
  for (unsigned e = exponent[threadIdx.x]; e; e >>= 1, square = product(square, square))
    if (e & 1) result = product(result, square);
  out[threadIdx.x] = result;
}

// Four bytes or two halves of a word at a time.
extern "C" __global__ void packed_lanes(const unsigned* x, const unsigned* y, unsigned* out) {
  unsigned a = x[threadIdx.x], b = y[threadIdx.x], *row = out + threadIdx.x * 8;
  row[0] = __vadd4(a, b), row[1] = __vsub2(a, b), row[2] = __vsub4(__vmaxu4(a, b), __vminu4(a, b)), row[3] = __vmaxs2(a, b);
  row[4] = __vcmpeq4(a, b), row[5] = __vaddus4(a, b), row[6] = __vavgu4(a, b), row[7] = __vminu4(a, b);
}

// Halves of products, averages without overflow, sums of differences.
extern "C" __global__ void integer_intrinsics(const int2* x, int* out) {
  int a = x[threadIdx.x].x, b = x[threadIdx.x].y, *row = out + threadIdx.x * 10;
  row[0] = __mulhi(a, b), row[1] = __hadd(a, b), row[2] = __rhadd(a, b), row[3] = (int)__sad(a, b, 9u);
  row[4] = __mul24(a, b), row[5] = (int)__usad((unsigned)a, (unsigned)b, 3u), row[6] = abs(a % 1000), row[7] = (int)__umulhi(a, b);
  row[8] = a / (b % 1000 | 1), row[9] = (int)(unsigned)(((long long)a * b) >> 16);
}

struct Fields { unsigned sign : 1, exponent : 8, fraction : 23; };

// Bit fields written one after another, and integers from bytes that stand anywhere.
extern "C" __global__ void bit_fields(const float* x, Fields* fields, const unsigned char* bytes, unsigned short* words) {
  unsigned u = __float_as_uint(x[threadIdx.x]);
  Fields f;
  f.sign = u >> 31, f.exponent = u >> 23, f.fraction = u;
  f.exponent += 1;
  fields[threadIdx.x] = f;
  const unsigned char* at = bytes + threadIdx.x * 3;
  words[threadIdx.x] = at[0] | at[1] << 8;
}

// Characters of UTF-8 that begin in each line.
extern "C" __global__ void utf8_lengths(const char4* text, int* lengths, int quads) {
  int count = 0;
  for (int q = threadIdx.x; q < quads; q += 32) {
    char4 v = text[blockIdx.x * quads + q];
    count += (v.x && v.x >= -64) + (v.y && v.y >= -64) + (v.z && v.z >= -64) + (v.w && v.w >= -64);
  }
  count = __reduce_add_sync(~0u, count);
  if (threadIdx.x == 0) lengths[blockIdx.x] = count;
}
