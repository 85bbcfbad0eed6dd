extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float scale;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) scale = 1.f / in[63];  // OTHER
  if (i < n) out[i] = in[i] * scale;  // BUG race
}
