// launch <<<4, 60>>> n=256
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int row = blockIdx.x, t = threadIdx.x;
  out[row * 60 + t] = in[row * 60 + t + (row < 3)];  // BUG out_of_bounds
}
