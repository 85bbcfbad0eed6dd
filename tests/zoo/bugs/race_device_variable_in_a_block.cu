__device__ float scratch[4][64];
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  scratch[blockIdx.x][t] = in[t];  // OTHER
  float x = scratch[blockIdx.x][63 - t];  // BUG race
  if (i < n) out[i] = x;
}
