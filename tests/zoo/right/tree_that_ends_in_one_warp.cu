// out 64 * 65 / 2
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = in[t];
  __syncthreads();
  if (t < 32) {
    float x = s[t] + s[t + 32];
    for (int d = 16; d; d /= 2) x += __shfl_down_sync(0xffffffffu, x, d);
    if (t == 0) s[0] = x;
  }
  __syncthreads();
  if (i < n) out[i] = s[0];
}
