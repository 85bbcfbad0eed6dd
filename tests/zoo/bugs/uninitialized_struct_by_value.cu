struct State { float m, l; };
__device__ float finish(State state) {
  return state.m / state.l;  // BUG uninitialized
}
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  State state;
  int i = blockIdx.x * 64 + threadIdx.x;
  state.m = in[0];
  float x = finish(state);
  if (i < n) out[i] = x;
}
