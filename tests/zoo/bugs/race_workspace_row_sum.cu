extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) ws[blockIdx.x] = 0.f;
  __syncthreads();
  ws[blockIdx.x] += in[t];  // BUG race
  __syncthreads();
  if (i < n) out[i] = ws[blockIdx.x];
}
