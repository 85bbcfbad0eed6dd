// launch <<<4, 64>>> n=1024
// out np.where(i < 256, x * 3, 0)
struct State { float m, l, spare, unused; };
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  State a;
  a.m = in[i];
  a.l = 2 * a.m;
  State* states = (State*)ws;
  states[i] = a;
  State b = states[i];
  out[i] = b.m + b.l;
  for (int k = 256 + i; k < n; k += 256) out[k] = 0.f;
}
