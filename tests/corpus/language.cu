// What the language allows: atomics of every width, shared memory in every guise, printf, templates, lambdas, asm.
#include <cstdint>
#include <cstdio>
#include <cuda_fp16.h>

extern "C" __global__ void atomics_32(int* s, unsigned* u, const int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(s, x[i]), atomicSub(s + 1, x[i]), atomicMin(s + 2, x[i]), atomicMax(s + 3, x[i]);
  atomicAnd(u, (unsigned)x[i] | 0xff00u), atomicOr(u + 1, (unsigned)x[i]), atomicXor(u + 2, (unsigned)x[i]);
  atomicInc(u + 3, 9u), atomicDec(u + 4, 9u);
}

extern "C" __global__ void atomics_64(unsigned long long* u, long long* s, const long long* x, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  atomicAdd(u, (unsigned long long)x[i]), atomicMax(u + 1, (unsigned long long)x[i]), atomicXor(u + 2, (unsigned long long)x[i]);
  atomicMin(s, x[i]), atomicMax(s + 1, x[i]);
}

extern "C" __global__ void atomics_floats(float* f, double* d, __half2* h, const float* x) {
  atomicAdd(f, x[threadIdx.x]);
  atomicAdd(d, (double)x[threadIdx.x]);
  atomicAdd(h, __floats2half2_rn(1.0f, 2.0f));
}

__device__ float atomic_max(float* place, float value) {
  int* word = (int*)place;
  int old = *word;
  while (__int_as_float(old) < value) {
    int seen = atomicCAS(word, old, __float_as_int(value));
    if (seen == old) break;
    old = seen;
  }
  return __int_as_float(old);
}

extern "C" __global__ void atomics_cas(float* best, unsigned short* shorts, const float* x) {
  atomic_max(best, x[threadIdx.x]);
  unsigned short seen = *shorts, wanted;
  do {
    wanted = seen;
    seen = atomicCAS(shorts, wanted, (unsigned short)(wanted + 3));
  } while (seen != wanted);
}

// A lock: the holder works inside the branch, so no lane of its warp spins in its way.
extern "C" __global__ void locked_sum(int* lock, volatile float* sum, const float* x) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      *sum += x[threadIdx.x + blockIdx.x * blockDim.x];
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

// One dynamic block of bytes, carved into three arrays of different types.
extern "C" __global__ void carved(const double* x, float* out, int n) {
  extern __shared__ unsigned char bytes[];
  double* doubles = (double*)bytes;
  float* floats = (float*)(doubles + n);
  uint8_t* flags = (uint8_t*)(floats + n);
  int t = threadIdx.x;
  doubles[t] = x[t];
  floats[t] = (float)t;
  flags[t] = t % 3 == 0;
  __syncthreads();
  int other = n - 1 - t;
  out[t] = (float)doubles[other] + floats[other] * flags[other];
}

// The same memory as words, then as bytes.
extern "C" __global__ void aliased(const unsigned* x, unsigned* out) {
  __shared__ union { unsigned words[64]; unsigned char bytes[256]; } both;
  int t = threadIdx.x;
  both.words[t] = x[t];
  __syncthreads();
  unsigned sum = 0;
  for (int k = 0; k < 4; ++k) sum = sum * 7 + both.bytes[(4 * t + 13 * k) % 256];
  out[t] = sum;
}

extern "C" __global__ void narrating(const int* x) {
  if (threadIdx.x % 16 == 3) printf("thread %d of %s holds %5.2f, %lld and %x%c", threadIdx.x, "block", x[threadIdx.x] / 4.0, (long long)x[threadIdx.x] << 33, x[threadIdx.x], '\n');
}

template <int N>
struct Binomial {
  __device__ static float of(float p, int k) {
    return p * Binomial<N - 1>::of(p, k - 1) + (1 - p) * Binomial<N - 1>::of(p, k);
  }
};

template <>
struct Binomial<0> {
  __device__ static float of(float, int k) { return k == 0 ? 1.0f : 0.0f; }
};

extern "C" __global__ void template_recursion(const float* p, float* out) {
  out[threadIdx.x] = Binomial<5>::of(p[threadIdx.x], threadIdx.x % 6);
}

template <typename F, typename G>
__device__ float composed(F f, G g, float x) { return f(g(x)); }

extern "C" __global__ void lambdas(const float* x, float* out, float shift) {
  auto square = [](float v) { return v * v; };
  auto moved = [shift](float v) { return v + shift; };
  float v = x[threadIdx.x];
  out[threadIdx.x] = threadIdx.x % 2 ? composed(square, moved, v) : composed(moved, square, v);
}

// An interpreter of a small stack machine: a switch in a loop, and a stack in local memory.
extern "C" __global__ void stack_machine(const int* program, int* out, int length) {
  int stack[16], top = 0;
  for (int pc = 0; pc < length; ++pc) {
    int word = program[pc];
    switch (word & 7) {
      case 0: stack[top++] = word >> 3; break;
      case 1: --top; stack[top - 1] += stack[top]; break;
      case 2: --top; stack[top - 1] *= stack[top]; break;
      case 3: stack[top] = stack[top - 1]; ++top; break;
      case 4: stack[top - 1] = -stack[top - 1]; break;
      case 5: stack[top++] = threadIdx.x; break;
      case 6: --top; if (stack[top] % 2) pc += word >> 3; break;
      default: stack[top - 1] ^= word >> 3;
    }
  }
  out[threadIdx.x] = stack[top - 1];
}

// Quicksort with a stack of its own: what recursion becomes where there is none.
extern "C" __global__ void quicksort_rows(int* x, int n) {
  int* a = x + threadIdx.x * n;
  int stack[32], top = 0;
  stack[top++] = 0, stack[top++] = n - 1;
  while (top) {
    int high = stack[--top], low = stack[--top];
    if (low >= high) continue;
    int pivot = a[(low + high) / 2], i = low, j = high;
    while (i <= j) {
      while (a[i] < pivot) ++i;
      while (a[j] > pivot) --j;
      if (i <= j) {
        int v = a[i];
        a[i++] = a[j];
        a[j--] = v;
      }
    }
    stack[top++] = low, stack[top++] = j, stack[top++] = i, stack[top++] = high;
  }
}

extern "C" __global__ void inline_asm(const unsigned* x, unsigned* out) {
  unsigned v = x[threadIdx.x], high, reversed, nth;
  asm("{ .reg .u64 wide; mul.wide.u32 wide, %1, %1; mov.b64 {_, %0}, wide; }" : "=r"(high) : "r"(v));
  asm("brev.b32 %0, %1;" : "=r"(reversed) : "r"(v));
  asm("fns.b32 %0, %1, 0, 2;" : "=r"(nth) : "r"(v));
  out[3 * threadIdx.x] = high, out[3 * threadIdx.x + 1] = reversed, out[3 * threadIdx.x + 2] = nth;
}

// Two warps hand over through named barriers; the producer does not wait for its consumer to read.
extern "C" __global__ void named_barriers(const float* x, float* out, int rounds) {
  __shared__ float box[2][32];
  int lane = threadIdx.x % 32;
  for (int r = 0; r < rounds; ++r) {
    int slot = r % 2;
    if (threadIdx.x < 32) {
      if (r >= 2) asm volatile("bar.sync %0, 64;" ::"r"(3 + slot) : "memory");
      box[slot][lane] = x[r * 32 + lane] * 2.0f;
      asm volatile("bar.arrive %0, 64;" ::"r"(1 + slot) : "memory");
    } else {
      asm volatile("bar.sync %0, 64;" ::"r"(1 + slot) : "memory");
      out[r * 32 + lane] = box[slot][31 - lane];
      asm volatile("bar.arrive %0, 64;" ::"r"(3 + slot) : "memory");
    }
  }
}

__constant__ float taps[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};

extern "C" __global__ void stencil_constant(const float* x, float* out, int n) {
  __shared__ float line[128 + 4];
  int i = blockIdx.x * 128 + threadIdx.x;
  line[threadIdx.x + 2] = i < n ? x[i] : 0.0f;
  if (threadIdx.x < 2) line[threadIdx.x] = i >= 2 ? x[i - 2] : 0.0f;
  if (threadIdx.x >= 126) line[threadIdx.x + 4] = i + 2 < n ? x[i + 2] : 0.0f;
  __syncthreads();
  float sum = 0.0f;
  for (int k = 0; k < 5; ++k) sum += taps[k] * line[threadIdx.x + k];
  if (i < n) out[i] = sum;
}
