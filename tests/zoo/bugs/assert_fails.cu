// says i < n
#include <cassert>
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  assert(i < n);  // BUG assert
  out[i] = in[i];
}
