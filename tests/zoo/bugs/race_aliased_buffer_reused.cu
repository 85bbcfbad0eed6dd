extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int* counts = (int*)s;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = in[t];
  __syncthreads();
  float x = s[63 - t];  // OTHER
  counts[t] = t;  // BUG race
  __syncthreads();
  if (i < n) out[i] = x + counts[63 - t];
}
