extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  int any = 0;
  if (in[t] > 10.f) any = __any_sync(0xffffffffu, in[t] > 40.f);  // BUG divergent_barrier
  if (i < n) out[i] = any;
}
