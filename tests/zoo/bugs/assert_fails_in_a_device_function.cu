// says x < 200.f
#include <cassert>
__device__ float checked(float x) {
  assert(x < 200.f);  // BUG assert
  return x;
}
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) out[i] = checked(in[i]);
}
