extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ bool last;
  int i = blockIdx.x * 64 + threadIdx.x;
  unsigned int* done = (unsigned int*)ws;
  if (threadIdx.x == 0) last = atomicAdd(done, 1u) == 3;  // BUG uninitialized
  __syncthreads();
  if (i < n) out[i] = last;
}
