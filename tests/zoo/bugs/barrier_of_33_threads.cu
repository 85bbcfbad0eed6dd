// says a barrier of 33 threads
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  int half = (blockDim.x + 2) / 2;
  asm volatile("bar.sync 1, %0;" ::"r"(half) : "memory");  // BUG divergent_barrier
  if (i < n) out[i] = in[i];
}
