// out 64.0
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ int lock;
  __shared__ float sum;
  if (threadIdx.x == 0) { lock = 0; sum = 0.f; }
  __syncthreads();
  bool waiting = true;
  while (waiting) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      __threadfence_block();
      sum += 1.f;
      __threadfence_block();
      atomicExch(&lock, 0);
      waiting = false;
    }
  }
  __syncthreads();
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) out[i] = sum;
}
