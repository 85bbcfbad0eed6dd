extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  float a[4], b[4];
  int i = blockIdx.x * 64 + threadIdx.x;
  for (int k = 0; k < 4; ++k) a[k] = b[k] = in[k];
  float x = a[threadIdx.x % 5];  // BUG out_of_bounds
  if (i < n) out[i] = x + b[threadIdx.x % 4];
}
