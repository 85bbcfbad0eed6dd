// launch <<<4, 64>>> n=256
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  ws[i] = in[i];  // OTHER
  out[i] = ws[i ^ 32];  // BUG race
}
