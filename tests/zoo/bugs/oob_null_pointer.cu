// says null pointer
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  const float* table = n > 1000 ? in : nullptr;
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) out[i] = table[i];  // BUG out_of_bounds
}
