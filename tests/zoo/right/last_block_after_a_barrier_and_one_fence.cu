// launch <<<4, 64>>> n=250
// out x.sum() + 0 * x
// One thread's fence, after a barrier, publishes what all threads of its block stored before it.
__device__ unsigned int done;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ bool last;
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) ws[i] = in[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(&done, 1u) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last) {
    float sum = 0.f;
    for (int j = 0; j < n; ++j) sum += ws[j];
    for (int k = threadIdx.x; k < n; k += 64) out[k] = sum;
    if (threadIdx.x == 0) done = 0;
  }
}
