// out x + 3
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = i < n ? in[i] : 0.f;
  for (int k = 0; k < 3; ++k) s[t] += 1.f;
  if (i < n) out[i] = s[t];
}
