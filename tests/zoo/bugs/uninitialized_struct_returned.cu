struct State { float m, l; };
__device__ State start(float x) {
  State state;
  state.m = x;
  return state;
}
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  State state = start(in[0]);
  float x = state.m + state.l;  // BUG uninitialized
  if (i < n) out[i] = x;
}
