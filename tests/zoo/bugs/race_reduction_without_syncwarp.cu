extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = i < n ? in[i] : 0.f;
  __syncthreads();
  if (t < 32) s[t] += s[t + 32];
  __syncthreads();
  if (t < 16) s[t] += s[t + 16];
  if (t < 8) s[t] += s[t + 8];  // BUG race
  __syncthreads();
  if (i < n) out[i] = s[t & 7];
}
