extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float sum = 0.f;
  for (unsigned int k = 3; k >= 0; --k)  // HOT
    sum += in[k & 3];  // HOT
  if (i < n) out[i] = sum;
}
