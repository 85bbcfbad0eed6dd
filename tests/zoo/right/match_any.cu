// out 8.0
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  unsigned int same = __match_any_sync(0xffffffffu, t / 8);
  if (i < n) out[i] = __popc(same);
}
