// launch <<<4, 32>>> n=128
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[16];
  int t = threadIdx.x, i = blockIdx.x * 32 + t;
  float x = 0.f;
  if (t < 16) {
    s[t] = in[t];  // OTHER
  } else {
    x = s[t - 16];  // BUG race
  }
  if (i < n) out[i] = x;
}
