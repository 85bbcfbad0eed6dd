// out np.array([6.0 for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  float a[4], b[4];
  int i = blockIdx.x * 64 + threadIdx.x;
  for (int k = 0; k < 3; ++k) a[k] = in[k];
  memcpy(b, a, sizeof b);
  if (i < n) out[i] = b[0] + b[1] + b[2];
}
