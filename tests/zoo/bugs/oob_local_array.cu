extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  float acc[4];
  int i = blockIdx.x * 64 + threadIdx.x;
  for (int k = 0; k <= 4; ++k) acc[k] = in[k];  // BUG out_of_bounds
  if (i < n) out[i] = acc[0] + acc[3];
}
