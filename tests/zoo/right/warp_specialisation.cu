// out np.array([x[k % 32] * 2 for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float box[2][32];
  int t = threadIdx.x, i = blockIdx.x * 64 + t, lane = t % 32;
  float x = 0.f;
  for (int k = 0; k < 2; ++k) {
    if (t < 32) box[k][lane] = in[lane];
    __syncthreads();
    if (t >= 32) x += box[k][lane];
  }
  if (t < 32) x = 2 * in[lane];
  if (i < n) out[i] = x;
}
