// Prefix sums: inside a block, by warps, in one pass over the grid, and by segments.
extern "C" __global__ void scan_hillis(const int* x, int* out, int n) {
  extern __shared__ int buffer[];
  int t = threadIdx.x, now = 0;
  buffer[t] = t < n ? x[t] : 0;
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    int next = 1 - now;
    int v = buffer[now * blockDim.x + t];
    buffer[next * blockDim.x + t] = t >= d ? v + buffer[now * blockDim.x + t - d] : v;
    now = next;
    __syncthreads();
  }
  if (t < n) out[t] = buffer[now * blockDim.x + t];
}

extern "C" __global__ void scan_blelloch(const float* x, float* out, int n) {
  extern __shared__ float tree[];
  int t = threadIdx.x, step = 1;
  tree[2 * t] = 2 * t < n ? x[2 * t] : 0.0f;
  tree[2 * t + 1] = 2 * t + 1 < n ? x[2 * t + 1] : 0.0f;
  int size = 2 * blockDim.x;
  for (int d = size >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) tree[step * (2 * t + 2) - 1] += tree[step * (2 * t + 1) - 1];
    step *= 2;
  }
  if (t == 0) tree[size - 1] = 0.0f;
  for (int d = 1; d < size; d *= 2) {
    step >>= 1;
    __syncthreads();
    if (t < d) {
      int a = step * (2 * t + 1) - 1, b = step * (2 * t + 2) - 1;
      float old = tree[a];
      tree[a] = tree[b];
      tree[b] += old;
    }
  }
  __syncthreads();
  if (2 * t < n) out[2 * t] = tree[2 * t];
  if (2 * t + 1 < n) out[2 * t + 1] = tree[2 * t + 1];
}

__device__ int warp_scan(int v) {
  int lane = threadIdx.x & 31;
  for (int d = 1; d < 32; d *= 2) {
    int left = __shfl_up_sync(~0u, v, d);
    if (lane >= d) v += left;
  }
  return v;
}

__device__ int block_scan(int v, int* sums) {
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  v = warp_scan(v);
  if (lane == 31) sums[warp] = v;
  __syncthreads();
  if (warp == 0) sums[lane] = warp_scan(lane < blockDim.x / 32 ? sums[lane] : 0);
  __syncthreads();
  return warp ? v + sums[warp - 1] : v;
}

extern "C" __global__ void scan_warps(const int* x, int* out, int n) {
  __shared__ int sums[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = block_scan(i < n ? x[i] : 0, sums);
  if (i < n) out[i] = v;
}

__device__ int ticket = 0;

// Each block waits for the prefix of the one before it.
extern "C" __global__ void scan_chained(const int* x, int* out, int* prefixes, volatile int* ready, int n) {
  __shared__ int sums[32];
  __shared__ int tile, before;
  if (threadIdx.x == 0) tile = atomicAdd(&ticket, 1);
  __syncthreads();
  int i = tile * blockDim.x + threadIdx.x;
  int v = block_scan(i < n ? x[i] : 0, sums);
  if (threadIdx.x == blockDim.x - 1) {
    int start = 0;
    if (tile > 0) {
      while (ready[tile - 1] == 0) {}
      __threadfence();
      start = ((volatile int*)prefixes)[tile - 1];
    }
    before = start;
    prefixes[tile] = start + v;
    __threadfence();
    ready[tile] = 1;
  }
  __syncthreads();
  if (i < n) out[i] = v + before;
}

extern "C" __global__ void scan_segments(const float* x, const int* heads, float* out, int n) {
  int i = blockIdx.x * 32 + threadIdx.x;
  float v = i < n ? x[i] : 0.0f;
  int flag = i < n ? heads[i] : 1;
  for (int d = 1; d < 32; d *= 2) {
    float left = __shfl_up_sync(~0u, v, d);
    int left_flag = __shfl_up_sync(~0u, flag, d);
    if (threadIdx.x >= d && !flag) v += left, flag |= left_flag;
  }
  if (i < n) out[i] = v;
}

extern "C" __global__ void compact(const int* x, int* out, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool keep = i < n && x[i] % 3 == 0;
  unsigned votes = __ballot_sync(~0u, keep);
  int base = 0;
  if ((threadIdx.x & 31) == 0) base = atomicAdd(count, __popc(votes));
  base = __shfl_sync(~0u, base, 0);
  unsigned below;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  if (keep) out[base + __popc(votes & below)] = x[i];
}
