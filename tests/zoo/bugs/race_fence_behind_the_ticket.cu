__device__ unsigned int done;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    ws[blockIdx.x] = in[blockIdx.x];  // OTHER
    last = atomicAdd(&done, 1u) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0.f;
    for (int b = 0; b < gridDim.x; ++b) sum += ws[b];  // BUG race
    for (int k = 0; k < n; ++k) out[k] = sum;
  }
}
