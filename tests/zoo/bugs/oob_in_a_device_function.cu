__device__ float pick(const float* row, int k) {
  return row[k];  // BUG out_of_bounds
}
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float x = pick(in + 200, threadIdx.x);
  if (i < n) out[i] = x;
}
