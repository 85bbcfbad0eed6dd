// launch <<<4, 64>>> n=256
// out np.ones(n)
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float m[64], l[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float high = -1e30f, sum = 0.f;
  for (int k = t; k < 256; k += 64) {
    float x = in[k] / 100.f, higher = fmaxf(high, x);
    sum = sum * expf(high - higher) + expf(x - higher);
    high = higher;
  }
  m[t] = high;
  l[t] = sum;
  __syncthreads();
  for (int d = 32; d > 0; d /= 2) {
    if (t < d) {
      float higher = fmaxf(m[t], m[t + d]);
      l[t] = l[t] * expf(m[t] - higher) + l[t + d] * expf(m[t + d] - higher);
      m[t] = higher;
    }
    __syncthreads();
  }
  float total = 0.f;
  for (int k = 0; k < 256; ++k) total += expf(in[k] / 100.f - m[0]) / l[0];
  out[i] = total;
}
