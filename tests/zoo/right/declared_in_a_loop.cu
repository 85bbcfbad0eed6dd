// out 12.0
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float sum = 0.f;
  for (int k = 0; k < 3; ++k) {
    float x;
    float pair[2];
    x = in[k];
    pair[0] = x; pair[1] = x;
    sum += pair[0] + pair[1];
  }
  if (i < n) out[i] = sum;
}
