// launch <<<2, (4, 4, 4)>>> n=128
// out np.array([x[64 * (k // 64) + (k % 64 ^ 48)] for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[4][4][4];
  int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z, i = blockIdx.x * 64 + 16 * z + 4 * y + x;
  s[z][y][x] = in[i];
  __syncthreads();
  out[i] = s[3 - z][y][x];
}
