__device__ float block_max(float* s, float x, int t) {
  s[t] = x;  // BUG race
  __syncthreads();
  float m = s[0];  // OTHER
  for (int k = 1; k < 64; ++k) m = fmaxf(m, s[k]);  // OTHER
  return m;
}
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float high = block_max(s, in[t], t);
  float low = -block_max(s, -in[t], t);
  if (i < n) out[i] = high - low;
}
