// out np.array([x[k] + (x[k + 16] if k % 32 < 16 and k + 16 < n else 0) for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int i = blockIdx.x * 64 + threadIdx.x, lane = threadIdx.x & 31, base = threadIdx.x & 32;
  float x = i < n ? in[i] : 0.f;
  if (lane < 16) {
    __syncwarp();
    x += s[base + lane];
  } else {
    s[base + lane - 16] = x;
    __syncwarp();
  }
  if (i < n) out[i] = x;
}
