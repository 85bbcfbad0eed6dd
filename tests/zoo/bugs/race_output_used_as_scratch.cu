// launch <<<4, 64>>> n=256
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, base = blockIdx.x * 64;
  out[base + t] = in[base + t];
  __syncthreads();
  for (int d = 32; d > 0; d /= 2)
    if (t < d) out[base + t] += out[base + t + d];  // BUG race
}
