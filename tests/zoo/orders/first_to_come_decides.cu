// out 0 * x
__device__ int first;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  __shared__ int winner;
  if (t == 0) winner = max(atomicCAS(&first, 0, (int)blockIdx.x + 1) - 1, 0);
  __syncthreads();
  if (i < n) out[i] = winner;
}
