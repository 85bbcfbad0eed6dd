// out np.full(n, 4 * 2016.0 + 64)
__device__ double total;
__device__ unsigned int done;
__device__ void add(double* place, double value) {
  unsigned long long* word = (unsigned long long*)place;
  unsigned long long old = *word, assumed;
  do {
    assumed = old;
    old = atomicCAS(word, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
  } while (assumed != old);
}
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ bool last;
  int t = threadIdx.x;
  add(&total, t + 0.25);
  __threadfence();
  __syncthreads();
  if (t == 0) last = atomicInc(&done, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  for (int k = t; k < n; k += 64) out[k] = total;
}
