// says element -16
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  const int table[4] = {2, 7, -1, -1};
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  int page = table[t / 16];
  float x = in[page * 16 + t % 16];  // BUG out_of_bounds
  if (i < n) out[i] = x;
}
