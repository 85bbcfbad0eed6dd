// out np.array([63.0 - k % 64 for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ unsigned char s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = t;
  __syncthreads();
  if (i < n) out[i] = s[63 - t];
}
