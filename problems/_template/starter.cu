// problem: template-id
// Fill in the marked line. The launch line below is read by the judge and yours to change.
// @launch scale_add<<<(N + 255) / 256, 256>>>(x, y, out, N, a)

__global__ void scale_add(const float* x, const float* y, float* out, int N, float a) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) out[i] = 0.f * (a * x[i] + y[i]);  // The result.
}
