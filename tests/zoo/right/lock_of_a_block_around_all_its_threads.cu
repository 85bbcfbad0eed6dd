// launch <<<4, 64>>> n=250
// out x
// One thread takes the lock for its block and gives it back; barriers keep the others inside.
__device__ int lock;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  if (threadIdx.x == 0) {
    while (atomicCAS(&lock, 0, 1) != 0) {
    }
    __threadfence();
  }
  __syncthreads();
  if (blockIdx.x == 0 || threadIdx.x < 58) ws[threadIdx.x] = in[threadIdx.x] + blockIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicExch(&lock, 0);
  }
  for (int k = blockIdx.x * 64 + threadIdx.x; k < n; k += 256) out[k] = in[k];
}
