extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  out[i] = in[i];
  const_cast<float*>(in)[i] = out[i];  // BUG input_modified
}
