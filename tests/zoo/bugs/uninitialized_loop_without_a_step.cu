extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float last;
  for (int k = i; k < 200; ++k) last = in[k];
  if (i < n) out[i] = last + 1.f;  // BUG uninitialized
}
