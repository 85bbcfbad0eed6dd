// out np.array([4 * x[k % 16] for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float part[4][16];
  int t = threadIdx.x, i = blockIdx.x * 64 + t, split = t / 16, d = t % 16;
  part[split][d] = in[d];
  __syncthreads();
  float sum = 0.f;
  for (int s = 0; s < 4; ++s) sum += part[s][d];
  if (i < n) out[i] = sum;
}
