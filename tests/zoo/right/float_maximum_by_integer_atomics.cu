// out np.minimum(64.0 * (b + 1), n)
#define INFINITY __int_as_float(0x7f800000)
__device__ float atomic_max(float* place, float value) {
  return value >= 0 ? __int_as_float(atomicMax((int*)place, __float_as_int(value)))
                    : __uint_as_float(atomicMin((unsigned int*)place, __float_as_uint(value)));
}
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float best;
  int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x == 0) best = -INFINITY;
  __syncthreads();
  if (i < n) atomic_max(&best, in[i]);
  __syncthreads();
  if (i < n) out[i] = best;
}
