extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ volatile float best;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) best = 0.f;
  __syncthreads();
  float x = i < n ? in[i] : 0.f;
  if (x > best)  // OTHER
    best = x;    // BUG race
  __syncthreads();
  if (i < n) out[i] = best;
}
