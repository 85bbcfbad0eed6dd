// launch <<<4, 64>>> n=256
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x < 32) ws[i % n] = in[i % n];
  __syncthreads();
  float sum = 0.f;
  for (int k = 0; k < 64; ++k) sum += ws[(blockIdx.x * 64 + k) % n];  // BUG uninitialized
  if (i < n) out[i] = sum;
}
