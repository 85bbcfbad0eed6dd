extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ int count;
  int i = blockIdx.x * 64 + threadIdx.x;
  atomicAdd(&count, 1);  // BUG uninitialized
  __syncthreads();
  if (i < n) out[i] = count;
}
