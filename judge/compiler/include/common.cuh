// The judge's own common.cuh: what a kernel of the book expects from the book's, for device code.
#pragma once

__host__ __device__ constexpr int cdiv(int a, int b) { return (a + b - 1) / b; }
__host__ __device__ constexpr long long cdiv(long long a, long long b) { return (a + b - 1) / b; }
__host__ __device__ constexpr unsigned long long cdiv(unsigned long long a, unsigned long long b) {
  return (a + b - 1) / b;
}

// Host code is set aside, so these check nothing; they let a stray use compile.
#define CUDA_CHECK(call) static_cast<void>(0)
#define CUDA_CHECK_LAST() static_cast<void>(0)
#define CHECK_CUDA(call) static_cast<void>(0)
#define CUDA_CHECK_KERNEL() static_cast<void>(0)
