// out np.where(i % 2 == 0, x, 1.0)
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = 1.f;
  if (i < n) {
    const float* from = t % 2 == 0 ? in + i : s + t;
    out[i] = *from;
  }
}
