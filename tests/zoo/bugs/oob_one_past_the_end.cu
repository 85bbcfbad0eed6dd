// says element 250
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i <= n) out[i] = 1.f;  // BUG out_of_bounds
}
