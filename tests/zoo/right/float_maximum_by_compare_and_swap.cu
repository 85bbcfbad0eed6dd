// launch <<<4, 64>>> n=256
// out np.array([64.0 * (k // 64) + 64 for k in i])
__device__ void raise_to(float* best, float x) {
  int* bits = (int*)best;
  int old = *(volatile int*)bits;
  while (__int_as_float(old) < x) {
    int seen = atomicCAS(bits, old, __float_as_int(x));
    if (seen == old) break;
    old = seen;
  }
}
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float best;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) best = -1.f;
  __syncthreads();
  raise_to(&best, in[i]);
  __syncthreads();
  out[i] = best;
}
