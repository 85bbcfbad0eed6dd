extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ volatile int ready;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) ready = 0;
  __syncthreads();
  if (t < 32)
    while (ready == 0) {}  // HOT
  __syncthreads();
  if (t == 0) ready = 1;
  if (i < n) out[i] = in[i];
}
