// out 3.0
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ int again;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  int steps = 0;
  bool more = true;
  while (more) {
    if (t == 0) again = 0;
    __syncthreads();
    if (t == 40 && steps < 2) again = 1;
    __syncthreads();
    more = again;
    __syncthreads();
    ++steps;
  }
  if (i < n) out[i] = steps;
}
