// launch <<<(2, 2), (8, 8)>>> n=256
// out np.array([x[(k % 16) * 16 + k // 16] for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float tile[8][9];
  int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = in[y * 16 + x];
  __syncthreads();
  x = blockIdx.y * 8 + threadIdx.x;
  y = blockIdx.x * 8 + threadIdx.y;
  out[y * 16 + x] = tile[threadIdx.x][threadIdx.y];
}
