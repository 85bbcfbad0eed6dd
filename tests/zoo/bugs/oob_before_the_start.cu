// says element -1
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) out[i] = in[i] - in[i - 1];  // BUG out_of_bounds
}
