extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  float acc[4] = {1.f, 2.f, 3.f, 4.f};
  int i = blockIdx.x * 64 + threadIdx.x;
  float x = acc[threadIdx.x];  // BUG out_of_bounds
  if (i < n) out[i] = x;
}
