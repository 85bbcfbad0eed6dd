// launch <<<2, 32>>> n=250
// out 2 * x
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = 2 * in[i];
}
