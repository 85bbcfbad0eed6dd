// out 1.0
__device__ unsigned int served;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  unsigned int before = atomicAdd(&served, 1u);
  unsigned int after = atomicAdd(&served, 0u);
  if (i < n) out[i] = after > before ? 1.f : 0.f;
}
