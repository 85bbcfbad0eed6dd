// launch <<<2, (4, 4, 4)>>> n=128
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[4][4][4];
  int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  s[z][y][x] = in[16 * z + 4 * y + x];  // OTHER
  float up = s[3 - z][y][x];  // BUG race
  out[blockIdx.x * 64 + 16 * z + 4 * y + x] = up;
}
