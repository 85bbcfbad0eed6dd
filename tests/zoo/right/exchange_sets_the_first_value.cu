// out i * 0 + 1.0
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ int best;
  int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x == 0) (void)atomicExch(&best, 0);
  __syncthreads();
  atomicMax(&best, 1);
  __syncthreads();
  if (i < n) out[i] = static_cast<float>(best);
}
