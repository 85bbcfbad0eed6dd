// out x + 1
struct State { float m, l, spare; };
__device__ void exchange(State& a, State& b) { State c = a; a = b; b = c; }
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ State s[2][64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[0][t].m = i < n ? in[i] : 0.f; s[0][t].l = 1.f;
  s[1][t].m = 5.f; s[1][t].l = 6.f;
  exchange(s[0][t], s[1][t]);
  if (i < n) out[i] = s[1][t].m + s[1][t].l;
}
