template <int WIDTH>
__device__ float block_sum(float* s, float x, int t) {
  s[t] = x;
  __syncthreads();
  for (int d = WIDTH / 2; d > 0; d /= 2)
    if (t < d) s[t] += s[t + d];  // BUG race
  __syncthreads();
  return s[0];
}
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float sum = block_sum<64>(s, in[t], t);
  if (i < n) out[i] = sum;
}
