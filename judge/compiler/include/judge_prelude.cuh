// Read before every submission: what nvcc's own pre-included headers give and NVRTC's do not.
#pragma once

#ifndef INFINITY
#define INFINITY __builtin_bit_cast(float, 0x7f800000u)
#endif
#ifndef NAN
#define NAN __builtin_bit_cast(float, 0x7fc00000u)
#endif

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef long long intptr_t;
typedef unsigned long long uintptr_t;

// A constexpr function without a mark, which nvcc takes for constant expressions. The judge writes this word of
// the same length in its place (see judge/submission/hostcode.py).
#define constexp_ __host__ __device__ constexpr

#ifdef __CUDACC_DEBUG__
// With -G the compiler refuses its own dp4a and dp2a ("unsupported operation"); the instructions themselves it takes.
#define JUDGE_DOT(name, instruction, type, result) \
  __device__ __forceinline__ result judge_##name(type a, type b, result c) { \
    result d; \
    asm(instruction " %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); \
    return d; \
  }
#define JUDGE_DOT_OF(name, first, second, word, result) \
  __device__ __forceinline__ result judge_##name(first a, second b, result c) { \
    return judge_##name(__builtin_bit_cast(word, a), __builtin_bit_cast(word, b), c); \
  }
JUDGE_DOT(dp4a, "dp4a.s32.s32", int, int)
JUDGE_DOT(dp4a, "dp4a.u32.u32", unsigned, unsigned)
JUDGE_DOT_OF(dp4a, char4, char4, int, int)
JUDGE_DOT_OF(dp4a, uchar4, uchar4, unsigned, unsigned)
JUDGE_DOT(dp2a_lo, "dp2a.lo.s32.s32", int, int)
JUDGE_DOT(dp2a_lo, "dp2a.lo.u32.u32", unsigned, unsigned)
JUDGE_DOT_OF(dp2a_lo, short2, char4, int, int)
JUDGE_DOT_OF(dp2a_lo, ushort2, uchar4, unsigned, unsigned)
JUDGE_DOT(dp2a_hi, "dp2a.hi.s32.s32", int, int)
JUDGE_DOT(dp2a_hi, "dp2a.hi.u32.u32", unsigned, unsigned)
JUDGE_DOT_OF(dp2a_hi, short2, char4, int, int)
JUDGE_DOT_OF(dp2a_hi, ushort2, uchar4, unsigned, unsigned)
#undef JUDGE_DOT
#undef JUDGE_DOT_OF
#define __dp4a judge_dp4a
#define __dp2a_lo judge_dp2a_lo
#define __dp2a_hi judge_dp2a_hi
#endif
