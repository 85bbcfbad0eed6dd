__device__ float total;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x == 0) total += in[i];  // BUG race
  if (i < n) out[i] = 1.f;
}
