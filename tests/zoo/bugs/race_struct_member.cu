struct State { float m, l; };
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ State state[2];
  int t = threadIdx.x, i = blockIdx.x * 64 + t, w = t / 32;
  if (t % 32 == 0) {
    state[w].m = in[t];
    state[w].l = 1.f;  // OTHER
  }
  __syncwarp();
  float l = state[1 - w].l;  // BUG race
  __syncthreads();
  if (i < n) out[i] = l + state[w].m;
}
