// out np.array([sum(x[j] for d in (0, 1, 3, 6) for j in [32 * (k // 32) + (k + d) % 16] if j < n) * (k % 32 < 16) for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int i = blockIdx.x * 64 + threadIdx.x, lane = threadIdx.x & 31;
  s[threadIdx.x] = i < n ? in[i] : 0.f;
  float x = 0.f;
  if (lane < 16) {
    for (int k = 0; k < 4; ++k) {
      __syncwarp(0xffff);
      float y = s[(threadIdx.x & 32) + ((lane + k) & 15)];
      __syncwarp(0xffff);
      s[threadIdx.x] = y;
      x += y;
    }
  }
  if (i < n) out[i] = x;
}
