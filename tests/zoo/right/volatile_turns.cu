// out 2.0
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ volatile int turn;
  __shared__ int sum;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) {
    turn = 0;
    sum = 0;
  }
  __syncthreads();
  if (t % 32 == 0) {
    while (turn != t / 32) {}
    __threadfence_block();
    sum = sum + 1;
    __threadfence_block();
    turn = turn + 1;
  }
  __syncthreads();
  if (i < n) out[i] = sum;
}
