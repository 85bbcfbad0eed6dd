extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  unsigned int i = blockIdx.x * 64 + threadIdx.x;
  float left = in[i - 1];  // BUG out_of_bounds
  if (i < n) out[i] = left;
}
