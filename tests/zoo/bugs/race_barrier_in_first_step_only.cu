extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float sum = 0.f;
  for (int k = 0; k < 3; ++k) {
    s[t] = in[t + k];  // OTHER
    if (k == 0) __syncthreads();
    sum += s[63 - t];  // BUG race
  }
  if (i < n) out[i] = sum;
}
