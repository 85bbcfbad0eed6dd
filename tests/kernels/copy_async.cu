// cp.async into shared memory, with groups and double buffering.
__device__ __forceinline__ void copy16(void* shared, const void* global) {
  unsigned where = (unsigned)__cvta_generic_to_shared(shared);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(where), "l"(global) : "memory");
}

extern "C" __global__ void copy_async(const float4* in, float* out, int tiles) {
  __shared__ __align__(16) float4 stage[2][64];
  int t = threadIdx.x;
  float sum = 0.0f;
  copy16(&stage[0][t], in + t);
  asm volatile("cp.async.commit_group;" ::: "memory");
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles) copy16(&stage[(tile + 1) & 1][t], in + (tile + 1) * 64 + t);
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    float4 v = stage[tile & 1][63 - t];
    sum += v.x + v.y + v.z + v.w;
    __syncthreads();
  }
  out[t] = sum;
}

extern "C" __global__ void copy_async_partial(const int* in, int* out, int n) {
  __shared__ int stage[32];
  unsigned where = (unsigned)__cvta_generic_to_shared(&stage[threadIdx.x]);
  int bytes = threadIdx.x < n ? 4 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(where), "l"(in + (threadIdx.x < n ? threadIdx.x : 0)), "r"(bytes));
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  out[threadIdx.x] = stage[31 - threadIdx.x];
}
