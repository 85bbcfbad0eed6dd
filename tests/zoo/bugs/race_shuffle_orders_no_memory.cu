// launch <<<4, 32>>> n=128
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[32];
  int t = threadIdx.x, i = blockIdx.x * 32 + t;
  s[t] = in[i];  // OTHER
  float first = __shfl_sync(0xffffffffu, in[i], 0);
  out[i] = first + s[31 - t];  // BUG race?
}
