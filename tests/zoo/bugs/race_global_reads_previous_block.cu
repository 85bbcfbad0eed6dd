extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) out[i] = in[i];  // OTHER
  __syncthreads();
  if (i >= 64 && i < n) ws[i] = out[i - 64];  // BUG race
}
