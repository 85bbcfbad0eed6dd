extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float sum = 0.f;
  for (int k = i; k < n;)
    sum += in[k];  // HOT
  if (i < n) out[i] = sum;
}
