extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  out[blockIdx.x] = in[threadIdx.x];  // BUG race
}
