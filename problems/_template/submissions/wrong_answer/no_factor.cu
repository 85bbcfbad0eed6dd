// problem: template-id
// The factor is never used.
// expect-case: three
// expect-mutant: no_factor

__global__ void scale_add(const float* x, const float* y, float* out, int N, float a) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) out[i] = x[i] + y[i];
}
