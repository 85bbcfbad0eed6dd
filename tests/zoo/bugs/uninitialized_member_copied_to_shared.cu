// says holds a copy (made at line 9)
struct State { float m, l; };
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ State s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  State mine;
  mine.m = i < n ? in[i] : 0.f;
  if (t % 2) mine.l = 1.f;
  s[t] = mine;
  __syncthreads();
  float x = s[t].m / s[t].l;  // BUG uninitialized
  if (i < n) out[i] = x;
}
