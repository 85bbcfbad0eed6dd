// launch <<<4, 64>>> n=256
// out np.array([64.0 * (k // 64) + 64 - k % 64 for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  float* mine = ws + blockIdx.x * 64;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  mine[t] = in[i];
  __syncthreads();
  out[i] = mine[63 - t];
}
