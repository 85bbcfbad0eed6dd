// problem: template-id
// The guard ends one early.
// expect-case: thousand
// expect-diagnosis: unwritten

__global__ void scale_add(const float* x, const float* y, float* out, int N, float a) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N - 1) out[i] = a * x[i] + y[i];
}
