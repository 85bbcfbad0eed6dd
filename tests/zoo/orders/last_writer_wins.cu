// out np.where(i < 64, 3.0, x)
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (i >= 64 && i < n) out[i] = in[i];
  atomicExch(&out[t], (float)blockIdx.x);
}
