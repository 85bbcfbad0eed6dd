// launch <<<3, 64>>> n=128
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  const float* row = in + blockIdx.x * 64;
  float x = row[threadIdx.x];  // BUG out_of_bounds
  if (blockIdx.x < 2) out[blockIdx.x * 64 + threadIdx.x] = x;
}
