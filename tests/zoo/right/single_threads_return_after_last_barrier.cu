// out np.array([x[64 * (k // 64)] for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = i < n ? in[i] : 0.f;
  __syncthreads();
  if (i >= n) return;
  out[i] = s[0];
}
