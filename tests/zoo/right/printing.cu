// out x
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i == 3) printf("%d %f %s\n", i, in[i], "three");
  if (i < n) out[i] = in[i];
}
