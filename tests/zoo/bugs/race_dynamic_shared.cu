// launch <<<4, 64>>> n=250 shared=256
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  extern __shared__ float s[];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = in[t];  // OTHER
  float x = s[(t + 40) % 64];  // BUG race
  if (i < n) out[i] = x;
}
