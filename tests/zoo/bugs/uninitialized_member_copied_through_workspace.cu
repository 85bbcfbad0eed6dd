// launch <<<2, 64>>> n=256
// says holds a copy (made at line 9)
struct State { float m, l; };
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  State* states = (State*)ws;
  State mine;
  mine.m = in[i];
  states[i] = mine;
  out[2 * i] = states[i].m;
  out[2 * i + 1] = states[i].l;  // BUG uninitialized
}
