// out 8.0
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  float acc[8];
  int i = blockIdx.x * 64 + threadIdx.x;
  for (int k = 0; k < 8; ++k) acc[k] = 0.f;
  for (int k = 0; k < 64; ++k) acc[k % 8] += 0.125f;
  float sum = 0.f;
  for (int k = 0; k < 8; ++k) sum += acc[k];
  if (i < n) out[i] = sum;
}
