extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = in[t];  // OTHER
  __syncwarp();
  float x = s[63 - t];  // BUG race
  if (i < n) out[i] = x;
}
