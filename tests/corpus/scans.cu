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

// Products: every thread takes in its left neighbor at a doubling distance, in place.
extern "C" __global__ void scan_kogge_stone(const float* x, float* out) {
  __shared__ float line[64];
  int t = threadIdx.x;
  line[t] = x[blockIdx.x * 64 + t];
  for (int d = 1; d < 64; d <<= 1) {
    __syncthreads();
    float left = t >= d ? line[t - d] : 1.0f;
    __syncthreads();
    line[t] *= left;
  }
  out[blockIdx.x * 64 + t] = line[t];
}

// Up the tree and down again without a second array; two elements a thread, inclusive.
extern "C" __global__ void scan_brent_kung(const long long* x, long long* out, int n) {
  __shared__ long long line[128];
  int t = threadIdx.x;
  line[t] = t < n ? x[t] : 0;
  line[t + 64] = t + 64 < n ? x[t + 64] : 0;
  for (int stride = 1; stride <= 64; stride *= 2) {
    __syncthreads();
    int i = (t + 1) * 2 * stride - 1;
    if (i < 128) line[i] += line[i - stride];
  }
  for (int stride = 32; stride > 0; stride /= 2) {
    __syncthreads();
    int i = (t + 1) * 2 * stride - 1;
    if (i + stride < 128) line[i + stride] += line[i];
  }
  __syncthreads();
  if (t < n) out[t] = line[t];
  if (t + 64 < n) out[t + 64] = line[t + 64];
}

// Half of the threads' elements take in the last of the half before them.
extern "C" __global__ void scan_sklansky_max(int* x) {
  int t = threadIdx.x;
  for (int half = 1; half < 128; half *= 2) {
    int start = t / half * 2 * half, target = start + half + t % half;
    x[target] = max(x[target], x[start + half - 1]);
    __syncthreads();
  }
}

// Decoupled look-back: flag and sum travel in one word; 1 is a block's own sum, 2 that of all up to it.
extern "C" __global__ void scan_look_back(const int* x, int* out, unsigned long long* words, int* turn, int n) {
  __shared__ int sums[32];
  __shared__ int tile, before;
  int t = threadIdx.x;
  if (t == 0) tile = atomicAdd(turn, 1);
  __syncthreads();
  int i = tile * blockDim.x + t;
  int v = block_scan(i < n ? x[i] : 0, sums);
  if (t == blockDim.x - 1) {
    atomicExch(words + tile, (tile ? 1ull : 2ull) << 32 | (unsigned)v);
    int sum = 0;
    for (int p = tile - 1; p >= 0; --p) {
      unsigned long long word;
      do word = atomicAdd(words + p, 0ull);
      while (word >> 32 == 0);
      sum += (int)(unsigned)word;
      if (word >> 32 == 2) break;
    }
    before = sum;
    if (tile) atomicExch(words + tile, 2ull << 32 | (unsigned)(sum + v));
  }
  __syncthreads();
  if (i < n) out[i] = before + v;
}

// h = a h + b as a scan of affine maps; a warp carries the state from one chunk to the next.
extern "C" __global__ void scan_recurrence(const float* a, const float* b, float* out, int n) {
  int lane = threadIdx.x;
  float state = 0.0f;
  for (int start = 0; start < n; start += 32) {
    int i = start + lane;
    float2 map = i < n ? make_float2(a[i], b[i]) : make_float2(1.0f, 0.0f);
    for (int d = 1; d < 32; d *= 2) {
      float fa = __shfl_up_sync(~0u, map.x, d), fb = __shfl_up_sync(~0u, map.y, d);
      if (lane >= d) map = make_float2(map.x * fa, map.x * fb + map.y);
    }
    float h = map.x * state + map.y;
    if (i < n) out[i] = h;
    state = __shfl_sync(~0u, h, 31);
  }
}

// A head writes its value; the next head's place ends its run.
extern "C" __global__ void run_lengths(const int* x, int* values, int* lengths, int* count, int n) {
  __shared__ int sums[32];
  __shared__ int starts[129];
  int t = threadIdx.x;
  int head = t < n && (t == 0 || x[t] != x[t - 1]);
  int place = block_scan(head, sums);
  if (head) starts[place - 1] = t, values[place - 1] = x[t];
  if (t == blockDim.x - 1) starts[place] = n, *count = place;
  __syncthreads();
  if (head) lengths[place - 1] = starts[place] - starts[place - 1];
}

extern "C" __global__ void partition_stable(const int* x, int* out, int pivot, int n) {
  __shared__ int sums[32];
  int t = threadIdx.x;
  bool small = t < n && x[t] < pivot;
  int place = block_scan(small, sums), all = __syncthreads_count(small);
  if (t < n) out[small ? place - 1 : all + t - place] = x[t];
}
