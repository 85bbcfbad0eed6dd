extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  ws[t] = i < n ? in[i] : 0.f;  // BUG race
  __syncthreads();
  if (i < n) out[i] = ws[63 - t];  // ALSO race
}
