// out np.minimum(64.0 * (b + 1), n)
__device__ void atomic_max(float* place, float value) {
  int* word = reinterpret_cast<int*>(place);
  int old = *word;
  while (__int_as_float(old) < value) {
    int seen = atomicCAS(word, old, __float_as_int(value));
    if (seen == old) break;
    old = seen;
  }
}
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float best;
  int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x == 0) best = 0.f;
  __syncthreads();
  if (i < n) atomic_max(&best, in[i]);
  __syncthreads();
  if (i < n) out[i] = best;
}
