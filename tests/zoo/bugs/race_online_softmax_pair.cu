extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float m, l;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) { m = in[0]; l = 0.f; }
  __syncthreads();
  for (int k = 1; k < 4; ++k) {
    float old = m;  // OTHER
    if (t == k) m = fmaxf(old, in[k]);  // BUG race
    __syncthreads();
    if (t == k) l = l * expf(old - m) + 1.f;
    __syncthreads();
  }
  if (i < n) out[i] = l;
}
