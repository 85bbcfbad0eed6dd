// out[block] = sum of the block's values: shuffles inside a warp, shared memory between warps.
__device__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_down_sync(0xffffffffu, value, offset);
  return value;
}

__device__ __forceinline__ float warp_max(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset >>= 1) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  return value;
}

extern "C" __global__ void sum_shuffle(const float* in, float* out, int n) {
  __shared__ float partial[32];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  float sum = warp_sum(i < n ? in[i] : 0.0f);
  if ((t & 31) == 0) partial[t >> 5] = sum;
  __syncthreads();
  if (t < 32) {
    sum = warp_sum(t < (blockDim.x + 31) / 32 ? partial[t] : 0.0f);
    if (t == 0) out[blockIdx.x] = sum;
  }
}

extern "C" __global__ void warp_maxima(const float* in, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = warp_max(in[i]);
}
