extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float tile[2][64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  tile[0][t] = in[t];
  float sum = 0.f;
  for (int k = 0; k < 3; ++k) {
    __syncthreads();
    for (int j = 0; j < 64; ++j) sum += tile[0][j];  // OTHER
    if (k < 2) tile[0][t] = in[(k + 1) * 64 + t];  // BUG race
  }
  if (i < n) out[i] = sum;
}
