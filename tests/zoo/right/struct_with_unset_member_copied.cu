// out 3 * x
struct State { float m, l, spare; };
__device__ float sum(State s) { return s.m + s.l; }
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  State a;
  a.m = i < n ? in[i] : 0.f;
  a.l = 2 * a.m;
  State b = a;
  if (i < n) out[i] = sum(b);
}
