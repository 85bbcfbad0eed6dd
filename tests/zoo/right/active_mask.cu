// out np.where(i % 4 == 0, 8.0, 0.0)
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float x = 0.f;
  if (t % 4 == 0) {
    unsigned int mask = __activemask();
    x = __popc(mask);
    __syncwarp(mask);
  }
  if (i < n) out[i] = x;
}
