__device__ int lock;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x == 0)
    while (atomicCAS(&lock, 0, 1) != 0) {}  // HOT
  __syncthreads();
  if (i < n) out[i] = in[i];
}
