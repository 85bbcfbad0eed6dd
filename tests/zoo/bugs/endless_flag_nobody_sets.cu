extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ volatile int ready;
  int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  while (ready == 0) {}  // HOT
  if (i < n) out[i] = in[i];
}
