// launch <<<(2, 2), 64>>> n=256
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  out[i] = in[i + 128 * blockIdx.y];  // BUG race
}
