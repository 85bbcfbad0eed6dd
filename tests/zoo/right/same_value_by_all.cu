// out 4*x
// warnings 1
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float scale;
  scale = in[3];
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) out[i] = scale * in[i];
}
