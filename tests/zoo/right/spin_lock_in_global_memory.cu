// out 4.0
__device__ int lock;
__device__ int turns;
__device__ int arrived;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ int seen;
  int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x == 0) {
    while (atomicCAS(&lock, 0, 1) != 0) {}
    __threadfence();
    turns = turns + 1;
    __threadfence();
    atomicExch(&lock, 0);
    seen = atomicAdd(&arrived, 1);
  }
  __syncthreads();
  if (seen == 3)
    for (int k = threadIdx.x; k < n; k += 64) out[k] = 4.f;
}
