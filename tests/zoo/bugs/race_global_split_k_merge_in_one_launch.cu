extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (i < n) ws[i] = in[i];  // OTHER
  __syncthreads();
  if (blockIdx.x == 3 && t < 16) {
    float sum = 0.f;
    for (int s = 0; s < 3; ++s) sum += ws[64 * s + t];  // BUG race
    out[t] = sum;
  }
}
