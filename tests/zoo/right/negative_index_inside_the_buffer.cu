// out np.maximum(x - 1, 1)
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  const float* middle = in + 100;
  int k = i > 0 ? i - 1 : 0;
  if (i < n) out[i] = middle[k - 100];
}
