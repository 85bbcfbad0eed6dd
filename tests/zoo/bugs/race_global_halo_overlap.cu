extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 62 + threadIdx.x;
  if (i < n) out[i] = in[threadIdx.x];  // BUG race
}
