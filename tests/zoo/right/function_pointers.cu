// out np.where(i % 2 == 0, 2 * x, x + 3)
__device__ float twice(float x) { return 2 * x; }
__device__ float plus3(float x) { return x + 3; }
using Step = float (*)(float);
__device__ Step steps[2] = {twice, plus3};
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  Step step = steps[i % 2];
  if (i < n) out[i] = step(in[i]);
}
