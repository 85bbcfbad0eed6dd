extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  float acc[4];
  int i = blockIdx.x * 64 + threadIdx.x;
  for (int k = 0; k < 4; ++k)
    acc[k] += i < n ? in[i] : 0.f;  // BUG uninitialized
  if (i < n) out[i] = acc[0] + acc[1] + acc[2] + acc[3];
}
