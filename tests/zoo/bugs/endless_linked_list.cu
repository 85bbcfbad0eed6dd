extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  const int next[4] = {1, 2, 3, 1};
  int i = blockIdx.x * 64 + threadIdx.x, k = 0, steps = 0;
  while (k >= 0) {  // HOT
    k = next[k];  // HOT
    ++steps;  // HOT
  }
  if (i < n) out[i] = steps;
}
