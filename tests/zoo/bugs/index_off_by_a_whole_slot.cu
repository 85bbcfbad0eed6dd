extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) out[i] = in[i];
  if (i == 0) out[1ll << 38] = 1.f;  // BUG out_of_bounds
}
