// launch <<<4, 32>>> n=128
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float first;
  int t = threadIdx.x, i = blockIdx.x * 32 + t;
  if (t == 0) first = in[i];  // OTHER
  out[i] = first;  // BUG race
}
