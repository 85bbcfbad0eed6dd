// problem: template-id
// Threads past N read and write elements that do not exist.
// expect-case: three
// expect-diagnosis: out_of_bounds

__global__ void scale_add(const float* x, const float* y, float* out, int N, float a) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = a * x[i] + y[i];
}
