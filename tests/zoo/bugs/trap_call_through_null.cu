__device__ float twice(float x) { return 2 * x; }
using Step = float (*)(float);
__device__ Step steps[2] = {twice};
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  Step step = steps[i % 2];
  if (i < n) out[i] = step(in[i]);  // BUG trap
}
