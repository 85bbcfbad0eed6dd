// out np.array([x[32*(k//32):32*(k//32)+32].sum() for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t, lane = t & 31;
  float* mine = s + (t & 32);
  mine[lane] = i < n ? in[i] : 0.f;
  __syncwarp();
  for (int d = 16; d; d /= 2) {
    float x = mine[(lane + d) & 31];
    __syncwarp();
    mine[lane] += x;
    __syncwarp();
  }
  if (i < n) out[i] = mine[0];
}
