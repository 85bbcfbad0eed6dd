// launch <<<4, 64>>> n=256
__device__ int count;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x == 0) {
    volatile int* p = &count;
    *p = *p + 1;  // BUG race
  }
  out[i] = in[i];
}
