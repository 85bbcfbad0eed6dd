extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ int again;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  int steps = 0;
  do {
    if (t == 0) again = 0;  // OTHER
    __syncthreads();
    if (t + steps < 66) again = 1;
    __syncthreads();
    ++steps;
  } while (again);  // BUG race
  if (i < n) out[i] = steps;
}
