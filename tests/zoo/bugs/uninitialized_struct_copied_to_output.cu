// launch <<<2, 64>>> n=256
struct Pair { float value, weight; };
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  Pair pair;
  pair.value = in[i];
  ((Pair*)out)[i] = pair;  // BUG uninitialized
}
