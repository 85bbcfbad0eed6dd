__device__ void largest(const float* row, int count, float& m) {
  for (int k = 0; k < count; ++k) m = fmaxf(m, row[k]);  // BUG uninitialized
}
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float m;
  largest(in, 8, m);
  if (i < n) out[i] = m;
}
