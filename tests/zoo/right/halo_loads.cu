// out np.array([x[max(k - 1, 0):k + 2].sum() for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[66];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t + 1] = i < n ? in[i] : 0.f;
  if (t == 0) s[0] = i > 0 ? in[i - 1] : 0.f;
  if (t == 63) s[65] = i + 1 < n ? in[i + 1] : 0.f;
  __syncthreads();
  if (i < n) out[i] = s[t] + s[t + 1] + s[t + 2];
}
