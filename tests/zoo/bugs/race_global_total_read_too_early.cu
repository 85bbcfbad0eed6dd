__device__ float total;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) atomicAdd(&total, in[i]);  // OTHER
  __syncthreads();
  if (i < n) out[i] = in[i] / total;  // BUG race
}
