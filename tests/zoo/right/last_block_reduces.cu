// out 10.0
__device__ unsigned int done;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    ws[blockIdx.x] = in[blockIdx.x];
    __threadfence();
    last = atomicAdd(&done, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    __threadfence();
    float sum = 0.f;
    for (int b = 0; b < gridDim.x; ++b) sum += ws[b];
    for (int k = threadIdx.x; k < n; k += 64) out[k] = sum;
  }
}
