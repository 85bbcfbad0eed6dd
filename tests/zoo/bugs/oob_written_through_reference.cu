__device__ void set(float& slot, float x) {
  slot = x;  // BUG out_of_bounds
}
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  set(out[i], 1.f);
}
