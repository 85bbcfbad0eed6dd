__device__ float twice(float x) {
  return x + x;  // BUG uninitialized
}
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float x;
  if (i >= 8) x = in[0];
  float y = twice(x);
  if (i < n) out[i] = y;
}
