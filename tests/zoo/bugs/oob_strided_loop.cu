extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float sum = 0.f;
  for (int k = i; k < n; k += 64)
    sum += in[k] + in[k + 1];  // BUG out_of_bounds
  if (i < n) out[i] = sum;
}
