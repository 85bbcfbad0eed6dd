struct State { float m, l; };
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  State state[2];
  int i = blockIdx.x * 64 + threadIdx.x;
  for (int k = 0; k < 2; ++k) state[k].m = in[k];
  float x = 0.f;
  for (int k = 0; k < 2; ++k) x += state[k].l;  // BUG uninitialized
  if (i < n) out[i] = x;
}
