extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  int stride = 276480;
  int page = 7768 + i;
  float x = in[(page * stride) % n];  // BUG out_of_bounds
  if (i < n) out[i] = x;
}
