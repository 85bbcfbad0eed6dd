// assert, trap and early exit.
extern "C" __global__ void asserting(const int* in, int* out) {
  int v = in[threadIdx.x];
  assert(v >= 0 && "values must not be negative");
  out[threadIdx.x] = v;
}

extern "C" __global__ void trapping(const int* in, int* out) {
  if (in[threadIdx.x] < 0) __trap();
  out[threadIdx.x] = in[threadIdx.x];
}

extern "C" __global__ void exiting(const int* in, int* out) {
  if (in[threadIdx.x] < 0) asm volatile("exit;");
  out[threadIdx.x] = in[threadIdx.x];
}
