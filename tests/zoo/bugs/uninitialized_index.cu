extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  int best;
  for (int k = 0; k < 4; ++k)
    if (in[k] > 2 + i) best = k;
  float x = in[best & 7];  // BUG uninitialized
  if (i < n) out[i] = x;
}
