__device__ float* scratch() {
  float x[2];
  x[0] = 1.f; x[1] = 2.f;
  float* p = x;
  asm volatile("" : "+l"(p));
  return p;
}
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float* p = scratch();
  if (i < n) out[i] = p[1];  // BUG out_of_bounds
}
