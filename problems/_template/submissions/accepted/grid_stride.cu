// problem: template-id
// A fixed grid walks over the array in strides.
// @launch scale_add_strided<<<128, 256>>>(x, y, out, N, a)

__global__ void scale_add_strided(const float* x, const float* y, float* out, int N, float a) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) out[i] = a * x[i] + y[i];
}
