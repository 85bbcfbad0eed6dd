extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ volatile int count;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) count = 0;
  __syncthreads();
  if (i < n && in[i] > 3.f) count++;  // BUG race
  __syncthreads();
  if (i < n) out[i] = count;
}
