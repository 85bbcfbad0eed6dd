// launch <<<4, 64>>> n=250 shared=832
// out np.array([float(63 - k % 64) * 2 + 1 for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  extern __shared__ char pool[];
  float* keys = (float*)pool;
  double* sums = (double*)(keys + 64);
  char* tags = (char*)(sums + 8);
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  keys[t] = t;
  if (t < 8) sums[t] = 1.0;
  tags[t] = t;
  __syncthreads();
  if (i < n) out[i] = keys[63 - t] + sums[t % 8] + tags[63 - t];
}
