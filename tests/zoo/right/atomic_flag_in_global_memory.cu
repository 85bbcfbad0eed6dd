// out 5.0
__device__ int ready;
__device__ float box;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float got;
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i == 0) {
    box = in[4];
    __threadfence();
    atomicExch(&ready, 1);
  }
  if (threadIdx.x == 0) {
    while (atomicAdd(&ready, 0) == 0) {}
    __threadfence();
    got = *(volatile float*)&box;
  }
  __syncthreads();
  if (i < n) out[i] = got;
}
