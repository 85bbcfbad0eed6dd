extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float slot;
  int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x == 0) slot = in[0];
  __syncthreads();
  float m = slot;  // OTHER
  if (threadIdx.x == 0) slot = in[1];  // BUG race
  __syncthreads();
  if (i < n) out[i] = m + slot;
}
