// launch <<<4, 48>>> n=192
// out np.array([x[48 * (k // 48):48 * (k // 48) + 48].sum() for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[48];
  int t = threadIdx.x, i = blockIdx.x * 48 + t;
  s[t] = in[i];
  __syncthreads();
  float sum = 0.f;
  for (int k = 0; k < 48; ++k) sum += s[k];
  out[i] = sum;
}
