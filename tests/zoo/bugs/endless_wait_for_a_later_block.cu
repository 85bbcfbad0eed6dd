__device__ int arrived;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x == 0) {
    atomicAdd(&arrived, 1);
    while (atomicAdd(&arrived, 0) < 4) {}  // HOT
  }
  __syncthreads();
  if (i < n) out[i] = in[i];
}
