__device__ int next;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ int ticket;
  int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x == 0) ticket = next++;  // BUG race
  __syncthreads();
  if (i < n) out[i] = ticket;
}
