// out 2 * x + 1
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  out[i] = in[i];
  out[i] *= 2.f;
  out[i] += 1.f;
}
