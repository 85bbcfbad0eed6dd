// launch <<<4, 64>>> n=250
// A fence of a block's scope orders nothing for the threads of another block.
__device__ unsigned int done;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ bool last;
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) ws[i] = in[i];  // OTHER
  __threadfence_block();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(&done, 1u) == gridDim.x - 1;
  __syncthreads();
  if (last) {
    float sum = 0.f;
    for (int j = threadIdx.x ^ 32; j < n; j += 64) sum += ws[j];  // BUG race
    for (int k = threadIdx.x; k < n; k += 64) out[k] = sum;
    if (threadIdx.x == 0) done = 0;
  }
}
