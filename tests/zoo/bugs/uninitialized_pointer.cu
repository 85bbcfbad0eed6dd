extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  const float* row;
  if (threadIdx.x < 60) row = in;
  if (i < n) out[i] = row[0];  // BUG uninitialized // ALSO out_of_bounds
}
