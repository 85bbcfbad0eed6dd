// out 7.0
__device__ void split(float x, float* low, float& high) {
  *low = x;
  high = 2 * x;
}
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float low, high;
  split(in[1], &low, high);
  if (i < n) out[i] = low + high + 1.f;
}
