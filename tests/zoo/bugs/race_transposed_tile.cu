// launch <<<(2, 2), (8, 8)>>> n=256
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float tile[8][9];
  int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = in[y * 16 + x];  // OTHER
  out[x * 16 + y] = tile[threadIdx.x][threadIdx.y];  // BUG race
}
