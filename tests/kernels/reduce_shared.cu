// out[block] = sum, maximum of the block's 256 values, by a tree in shared memory.
extern "C" __global__ void block_sum(const float* in, float* out, int n) {
  __shared__ float tile[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  tile[t] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (int stride = 128; stride > 0; stride >>= 1) {
    if (t < stride) tile[t] += tile[t + stride];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = tile[0];
}

extern "C" __global__ void block_max(const int* in, int* out, int n) {
  __shared__ int tile[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  tile[t] = i < n ? in[i] : -2147483647 - 1;
  __syncthreads();
#pragma unroll
  for (int stride = 128; stride > 0; stride >>= 1) {
    if (t < stride) tile[t] = max(tile[t], tile[t + stride]);
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = tile[0];
}
