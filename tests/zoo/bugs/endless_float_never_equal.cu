extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float x = 0.f;
  while (x != 1.f)  // HOT
    x += 0.1f;  // HOT
  if (i < n) out[i] = x;
}
