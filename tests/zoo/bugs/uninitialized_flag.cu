extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  bool found;
  for (int k = 0; k < 4; ++k)
    if (in[k] == i) found = true;
  if (i < n) out[i] = found ? 1.f : 0.f;  // BUG uninitialized
}
