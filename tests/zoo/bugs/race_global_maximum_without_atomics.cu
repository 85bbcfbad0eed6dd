__device__ float best;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x == 0 && in[i] > best)  // OTHER
    best = in[i];  // BUG race
  if (i < n) out[i] = 1.f;
}
