// says element 4294967280
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  const int table[4] = {2, 7, -1, -1};
  int i = blockIdx.x * 64 + threadIdx.x;
  int page = table[threadIdx.x / 16];
  float x = in[page * 16 + threadIdx.x % 16];  // BUG out_of_bounds
  if (i < n) out[i] = x;
}
