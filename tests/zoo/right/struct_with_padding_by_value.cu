// out 2 + 2 * x * 1.0
struct Mixed { char tag; double m; float l; };
__device__ Mixed merge(Mixed a, Mixed b) {
  Mixed r;
  r.tag = a.tag; r.m = a.m + b.m; r.l = a.l * b.l;
  return r;
}
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  Mixed a, b;
  a.tag = 1; a.m = i < n ? in[i] : 0.f; a.l = 1.f;
  b = a;
  b.tag = 3;
  Mixed c = merge(a, b);
  if (i < n) out[i] = c.m + c.l + c.tag;
}
