// launch <<<4, 128>>> n=500
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[128];
  int t = threadIdx.x, i = blockIdx.x * 128 + t;
  s[t] = i < n ? in[i] : 0.f;
  __syncthreads();
  for (int d = 64; d > 0; d /= 2)
    if (t < d) s[t] += s[t + d];  // BUG race
  __syncthreads();
  if (i < n) out[i] = s[0];
}
