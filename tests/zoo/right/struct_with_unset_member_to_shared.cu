// out 3 * x
struct State { float m, l, spare; };
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ State s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  State a;
  a.m = i < n ? in[i] : 0.f;
  a.l = 2 * a.m;
  s[t] = a;
  __syncthreads();
  if (i < n) out[i] = s[t].m + s[t].l;
}
