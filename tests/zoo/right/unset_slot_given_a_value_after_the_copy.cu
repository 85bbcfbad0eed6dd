// out x + 7
struct State { float m, l; };
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ State s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  State a;
  a.m = i < n ? in[i] : 0.f;
  s[t] = a;
  s[t].l = 7.f;
  __syncthreads();
  State b = s[t];
  if (i < n) out[i] = b.m + b.l;
}
