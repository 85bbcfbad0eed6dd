extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  auto wait = [] { __syncthreads(); };  // BUG divergent_barrier
  if (t >= 32) wait();
  __syncthreads();  // OTHER
  if (i < n) out[i] = in[i];
}
