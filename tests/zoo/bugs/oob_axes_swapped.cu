// launch <<<1, (32, 4)>>> n=128
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  float x = in[threadIdx.x * 32 + threadIdx.y];  // BUG out_of_bounds
  out[threadIdx.y * 32 + threadIdx.x] = x;
}
