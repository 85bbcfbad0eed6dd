struct State { float m, l, acc[2]; };
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ State state[2];
  int t = threadIdx.x, i = blockIdx.x * 64 + t, w = t / 32;
  State mine = {in[t], 1.f, {0.f, 0.f}};
  if (t % 32 == 0) state[w] = mine;  // OTHER
  State other = state[1 - w];  // BUG race
  if (i < n) out[i] = other.m + mine.l;
}
