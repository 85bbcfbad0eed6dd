// launch <<<4, 128>>> n=512
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 128 + t;
  float x = 0.f;
  if (t < 64) {
    s[t] = in[t];
    asm volatile("bar.sync 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 2, 64;" ::: "memory");
    x = s[t - 64];  // BUG race
  }
  out[i] = x;
}
