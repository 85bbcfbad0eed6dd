extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = threadIdx.x;
  if (blockIdx.x == 0) for (int k = i; k < n; k += 64) out[k] = 0.f;
  if (blockIdx.x > 0) out[i] = in[i];  // BUG race
}
