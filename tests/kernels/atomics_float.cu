// Floating-point atomics, and a maximum by a compare-and-swap loop.
__device__ float atomic_max(float* address, float value) {
  int* bits = (int*)address;
  int seen = *bits, assumed;
  do {
    assumed = seen;
    if (__int_as_float(assumed) >= value) break;
    seen = atomicCAS(bits, assumed, __float_as_int(value));
  } while (seen != assumed);
  return __int_as_float(seen);
}

extern "C" __global__ void atomics_float(const float* in, float* sum, double* sum64, float* top, float* last, int n) {
  __shared__ float partial;
  if (threadIdx.x == 0) partial = 0.0f;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(&partial, in[i]);
    atomicAdd(sum64, (double)in[i]);
    atomic_max(top, in[i]);
    if (i == n - 1) atomicExch(last, in[i]);
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(sum, partial);
}
