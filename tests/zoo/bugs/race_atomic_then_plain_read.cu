extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ int count;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) count = 0;
  __syncthreads();
  if (i % 3 == 0) atomicAdd(&count, 1);  // OTHER
  int seen = count;  // BUG race
  if (i < n) out[i] = seen;
}
