extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float tile[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) tile[threadIdx.x] = in[i];
  __syncthreads();
  float sum = 0.f;
  for (int k = 0; k < 64; ++k) sum += tile[k];  // BUG uninitialized
  if (i < n) out[i] = sum;
}
