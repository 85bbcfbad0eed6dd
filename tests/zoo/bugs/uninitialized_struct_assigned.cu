struct State { float m, l, acc[2]; };
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  State fresh, state;
  fresh.m = in[0]; fresh.acc[0] = 1.f; fresh.acc[1] = 2.f;
  state = fresh;
  float x = state.m + state.acc[1] + state.l;  // BUG uninitialized
  if (i < n) out[i] = x;
}
