// out np.array([x[k % 64] * 2 if k // 64 % 2 else x[63 - k % 64] for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float x;
  if (blockIdx.x % 2 == 0) {
    s[t] = in[t];
    __syncthreads();
    x = s[63 - t];
  } else {
    x = 2 * in[t];
  }
  if (i < n) out[i] = x;
}
