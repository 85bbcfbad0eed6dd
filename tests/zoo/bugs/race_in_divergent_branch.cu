extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[32];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float x = 0.f;
  if (t < 32) {
    s[t] = in[t];  // OTHER
  } else {
    x = s[t - 32];  // BUG race
  }
  if (i < n) out[i] = x;
}
