// out 1.0
// warnings 1
__device__ int found;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n && in[i] > 5.f) found = 1;
  if (i < n) out[i] = 1.f;
}
