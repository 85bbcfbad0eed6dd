extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float a[64], b[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t < 63 && i < n) a[t] = in[i];
  __syncthreads();
  b[t] = a[t];
  __syncthreads();
  float x = b[t] * 2.f;  // BUG uninitialized
  if (i < n) out[i] = x;
}
