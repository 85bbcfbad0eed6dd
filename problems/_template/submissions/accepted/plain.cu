// problem: template-id
// One thread an element; the default launch.

__global__ void scale_add(const float* x, const float* y, float* out, int N, float a) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) out[i] = a * x[i] + y[i];
}
