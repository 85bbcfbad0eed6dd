// says element 250
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float x = in[i];  // BUG out_of_bounds
  if (i < n) out[i] = x;
}
