__constant__ float weights[8] = {1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 7.f, 8.f};
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float x = weights[threadIdx.x];  // BUG out_of_bounds
  if (i < n) out[i] = x;
}
