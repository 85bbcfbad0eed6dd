// launch <<<4, 64>>> n=250
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  __syncthreads();  // BUG divergent_barrier?
  out[i] = in[i];
}
