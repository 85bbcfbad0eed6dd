__device__ int bins[4];
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) bins[i % 4] += 1;  // BUG race
  if (i < n) out[i] = 1.f;
}
