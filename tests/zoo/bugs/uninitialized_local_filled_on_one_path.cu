extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  float pair[2];
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i % 2 == 0) { pair[0] = in[0]; pair[1] = in[1]; }
  float x = pair[i % 2];  // BUG uninitialized
  if (i < n) out[i] = x;
}
