// Bitonic sort of 256 keys in shared memory; sort of a warp by shuffles.
extern "C" __global__ void sort_block(int* keys) {
  __shared__ int tile[256];
  int t = threadIdx.x;
  tile[t] = keys[blockIdx.x * 256 + t];
  __syncthreads();
  for (int size = 2; size <= 256; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      int other = t ^ stride;
      if (other > t && (tile[t] > tile[other]) == ((t & size) == 0)) {
        int swap = tile[t];
        tile[t] = tile[other];
        tile[other] = swap;
      }
      __syncthreads();
    }
  keys[blockIdx.x * 256 + t] = tile[t];
}

extern "C" __global__ void sort_warp(float* keys) {
  int t = threadIdx.x;
  float key = keys[t];
#pragma unroll
  for (int size = 2; size <= 32; size *= 2)
#pragma unroll
    for (int stride = size / 2; stride > 0; stride /= 2) {
      float other = __shfl_xor_sync(~0u, key, stride);
      bool ascending = (t & size) == 0, lower = (t & stride) == 0;
      key = ascending == lower ? fminf(key, other) : fmaxf(key, other);
    }
  keys[t] = key;
}
