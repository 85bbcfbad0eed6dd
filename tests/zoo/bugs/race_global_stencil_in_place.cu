__device__ float field[258];
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x + 1;
  float mean = 0.5f * (field[i - 1] + field[i + 1]) + in[threadIdx.x];  // OTHER
  __syncthreads();
  field[i] = mean;  // BUG race
  if (i <= n) out[i - 1] = mean;
}
