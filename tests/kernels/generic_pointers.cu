// One pointer that is global, shared or local memory, by thread; pointers kept in memory.
__device__ __noinline__ int sum_of(const int* values, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += values[i];
  return sum;
}

extern "C" __global__ void generic_pointers(const int* in, int* out) {
  __shared__ int tile[32];
  int own[4] = {1, 2, 3, threadIdx.x};
  tile[threadIdx.x] = in[threadIdx.x] * 2;
  __syncthreads();
  const int* where = threadIdx.x % 3 == 0 ? in : threadIdx.x % 3 == 1 ? tile : own;
  out[threadIdx.x] = sum_of(where, 4) + __isShared(where) * 1000 + __isLocal(where) * 2000;
}

extern "C" __global__ void pointer_table(float* const* rows, float* out, int columns) {
  float sum = 0.0f;
  for (int c = 0; c < columns; ++c) sum += rows[threadIdx.x][c];
  out[threadIdx.x] = sum;
}
