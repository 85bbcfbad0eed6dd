extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float sum;
  int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x == 0) sum = 0.f;
  __syncthreads();
  if (i < n) atomicAdd(&sum, in[i]);  // OTHER
  if (i < n) out[i] = sum;  // BUG race
}
