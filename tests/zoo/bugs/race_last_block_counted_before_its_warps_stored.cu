// launch <<<4, 64>>> n=250
// Thread 0 fences and counts its block as done, but no barrier says that the other warp has stored.
__device__ unsigned int done;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ bool last;
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) ws[i] = in[i];  // OTHER
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(&done, 1u) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last) {
    float sum = 0.f;
    for (int j = threadIdx.x ^ 32; j < n; j += 64) sum += ws[j];  // BUG race
    for (int k = threadIdx.x; k < n; k += 64) out[k] = sum;
    if (threadIdx.x == 0) done = 0;
  }
}
