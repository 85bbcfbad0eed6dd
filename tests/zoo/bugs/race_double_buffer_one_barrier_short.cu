extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float tile[2][64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float sum = 0.f;
  tile[0][t] = in[t];
  for (int k = 0; k < 3; ++k) {
    if (k % 2 == 0) __syncthreads();
    if (k < 2) tile[(k + 1) & 1][t] = in[(k + 1) * 64 + t];  // BUG race
    sum += tile[k & 1][63 - t];  // OTHER
  }
  if (i < n) out[i] = sum;
}
