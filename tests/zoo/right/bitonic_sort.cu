// launch <<<4, 64>>> n=256
// out x
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, base = blockIdx.x * 64;
  s[t] = in[base + (t * 37) % 64];
  __syncthreads();
  for (int size = 2; size <= 64; size *= 2)
    for (int d = size / 2; d > 0; d /= 2) {
      int mate = t ^ d;
      if (mate > t) {
        bool up = (t & size) == 0;
        if ((s[t] > s[mate]) == up) {
          float x = s[t];
          s[t] = s[mate];
          s[mate] = x;
        }
      }
      __syncthreads();
    }
  out[base + t] = s[t];
}
