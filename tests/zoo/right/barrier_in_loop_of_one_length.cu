// out 3.0
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  int steps = 0;
  for (int k = 0; k < n / 64; ++k) {
    if (i > 5) ++steps; else ++steps;
    __syncthreads();
  }
  if (i < n) out[i] = steps;
}
