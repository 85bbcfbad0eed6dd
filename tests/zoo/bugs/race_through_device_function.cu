__device__ void put(float* slot, float x) {
  *slot = x;  // OTHER
}
__device__ float get(const float* slot) {
  return *slot;  // BUG race
}
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  put(s + t, in[t]);
  float x = get(s + (t + 32) % 64);
  if (i < n) out[i] = x;
}
