extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float partial[32];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float x = in[t];
  for (int d = 16; d; d /= 2) x += __shfl_xor_sync(0xffffffffu, x, d);
  if (t % 32 == 0) partial[t / 32] = x;
  __syncthreads();
  float sum = t < 32 ? partial[t] : 0.f;  // BUG uninitialized
  if (i < n) out[i] = sum;
}
