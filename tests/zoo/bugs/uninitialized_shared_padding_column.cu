// launch <<<2, (8, 8)>>> n=128
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float tile[8][9];
  int x = threadIdx.x, y = threadIdx.y;
  tile[y][x] = in[8 * y + x];
  __syncthreads();
  float sum = 0.f;
  for (int k = 0; k < 9; ++k) sum += tile[y][k];  // BUG uninitialized
  out[blockIdx.x * 64 + 8 * y + x] = sum;
}
