// out np.array([x[max(k - 2, 0):k + 3].sum() for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float sum = 0.f;
  for (int k = i - 2; k <= i + 2; ++k)
    if (k >= 0 && k < n) sum += in[k];
  if (i < n) out[i] = sum;
}
