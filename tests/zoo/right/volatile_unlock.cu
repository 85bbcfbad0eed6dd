// out 250.0
__device__ int lock;
__device__ volatile int total, done;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x == 0) {
    while (atomicCAS(&lock, 0, 1) != 0) {}
    __threadfence();
    total = total + min(64, n - (int)blockIdx.x * 64);
    __threadfence();
    *(volatile int*)&lock = 0;
    __threadfence();
    atomicAdd((int*)&done, 1);
  }
  __shared__ bool last;
  if (threadIdx.x == 0) last = atomicAdd((int*)&done, 0) == gridDim.x;
  __syncthreads();
  if (last)
    for (int k = threadIdx.x; k < n; k += 64) out[k] = total;
}
