// launch <<<4, 64>>> n=250
// out x.sum() + 0 * x
// Each warp fences its own stores and counts itself: no barrier is needed.
__device__ unsigned int done;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) ws[i] = in[i];
  __threadfence();
  __syncwarp();
  unsigned int before = 0;
  if (threadIdx.x % 32 == 0) before = atomicAdd(&done, 1u);
  before = __shfl_sync(0xffffffffu, before, 0);
  if (before == 2 * gridDim.x - 1) {
    __threadfence();
    float sum = 0.f;
    for (int j = 0; j < n; ++j) sum += ws[j];
    for (int k = threadIdx.x % 32; k < n; k += 32) out[k] = sum;
    if (threadIdx.x % 32 == 0) done = 0;
  }
}
