// launch <<<4, 96>>> n=384
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 96 + t;
  float x = 0.f;
  if (t < 64) {
    s[t] = in[t];  // OTHER
    asm volatile("bar.sync 1, 64;" ::: "memory");
    asm volatile("bar.sync 1, 64;" ::: "memory");
  } else {
    __nanosleep(1);
    x = s[t - 64];  // BUG race
  }
  out[i] = x;
}
