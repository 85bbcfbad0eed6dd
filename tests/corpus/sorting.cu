// Sorts: networks in a warp and a block, by digits, by ranks, by merging, and splits into buckets.
__device__ void put_in_order(int& a, int& b) {
  int low = min(a, b), high = max(a, b);
  a = low, b = high;
}

// 32 keys a warp, exchanged by shuffles alone.
extern "C" __global__ void sort_warp_bitonic(const int* x, int* out) {
  int lane = threadIdx.x % 32, i = blockIdx.x * blockDim.x + threadIdx.x, v = x[i];
#pragma unroll
  for (int size = 2; size <= 32; size *= 2)
#pragma unroll
    for (int stride = size / 2; stride > 0; stride /= 2) {
      int other = __shfl_xor_sync(~0u, v, stride);
      bool rising = (lane & size) == 0 || size == 32, lower = (lane & stride) == 0;
      v = rising == lower ? min(v, other) : max(v, other);
    }
  out[i] = v;
}

extern "C" __global__ void sort_odd_even(int* x, int n) {
  __shared__ int keys[128];
  int t = threadIdx.x;
  for (int i = t; i < n; i += blockDim.x) keys[i] = x[i];
  for (int round = 0; round < n; ++round) {
    __syncthreads();
    int i = 2 * t + (round & 1);
    if (i + 1 < n) put_in_order(keys[i], keys[i + 1]);
  }
  __syncthreads();
  for (int i = t; i < n; i += blockDim.x) x[i] = keys[i];
}

// Least significant digit first, a bit a pass; the place of a key comes from ballots and a sum over warps.
extern "C" __global__ void sort_radix_bits(const int* x, int* out, int n) {
  __shared__ unsigned keys[128];
  __shared__ int zeros[4];
  int t = threadIdx.x, lane = t % 32, warp = t / 32;
  unsigned key = t < n ? (unsigned)x[t] ^ 0x80000000u : 0xffffffffu;
  for (int bit = 0; bit < 32; ++bit) {
    bool one = key >> bit & 1;
    unsigned vote = __ballot_sync(~0u, !one);
    if (lane == 0) zeros[warp] = __popc(vote);
    int all = __syncthreads_count(!one), before = __popc(vote & ((1u << lane) - 1));
    for (int w = 0; w < warp; ++w) before += zeros[w];
    keys[one ? all + t - before : before] = key;
    __syncthreads();
    key = keys[t];
  }
  if (t < n) out[t] = (int)(key ^ 0x80000000u);
}

// Stable: every key counts those that come before it.
extern "C" __global__ void sort_by_rank(const float* __restrict__ x, float* __restrict__ out, int* __restrict__ from, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float own = __ldg(x + i);
  int rank = 0;
  for (int j = 0; j < n; ++j) {
    float other = __ldg(x + j);
    rank += other < own || (other == own && j < i);
  }
  out[rank] = own, from[rank] = i;
}

// A thread finds where its stretch of the output begins in both inputs, and merges it alone.
extern "C" __global__ void merge_path(const int* a, int na, const int* b, int nb, int* out, int stretch) {
  int diagonal = min((int)(blockIdx.x * blockDim.x + threadIdx.x) * stretch, na + nb);
  int end = min(diagonal + stretch, na + nb), low = max(0, diagonal - nb), high = min(diagonal, na);
  while (low < high) {
    int middle = (low + high) >> 1;
    if (a[middle] <= b[diagonal - 1 - middle]) low = middle + 1;
    else high = middle;
  }
  int i = low, j = diagonal - low;
  for (int o = diagonal; o < end; ++o) out[o] = j >= nb || (i < na && a[i] <= b[j]) ? a[i++] : b[j++];
}

// Bottom up in shared memory: a key's rank in its sister run is found by halving.
extern "C" __global__ void sort_merge_block(const short* x, short* out) {
  __shared__ short buffers[2][128];
  int t = threadIdx.x, now = 0;
  buffers[0][t] = x[blockIdx.x * 128 + t];
  for (int run = 1; run < 128; run *= 2, now ^= 1) {
    __syncthreads();
    short own = buffers[now][t];
    int place = t & (run - 1), start = t & ~(2 * run - 1);
    bool left = (t & run) == 0;
    const short* sister = buffers[now] + start + (left ? run : 0);
    int low = 0, high = run;
    while (low < high) {
      int middle = (low + high) / 2;
      if (left ? sister[middle] < own : sister[middle] <= own) low = middle + 1;
      else high = middle;
    }
    buffers[now ^ 1][start + place + low] = own;
  }
  __syncthreads();
  out[blockIdx.x * 128 + t] = buffers[now][t];
}

struct Item { unsigned char key; float value; };

// Pairs by a key of 16 values; a thread a key walks the input, so equal keys stay in order.
extern "C" __global__ void sort_counting(const Item* x, Item* out, int n) {
  __shared__ int start[17];
  int t = threadIdx.x, count = 0;
  for (int i = 0; i < n; ++i) count += x[i].key == t;
  for (int d = 1; d < 16; d *= 2) {
    int left = __shfl_up_sync(0xffffu, count, d, 16);
    if (t >= d) count += left;
  }
  start[t + 1] = count;
  if (t == 0) start[0] = 0;
  __syncwarp(0xffff);
  int place = start[t];
  for (int i = 0; i < n; ++i)
    if (x[i].key == t) {
      out[place].key = x[i].key;
      out[place++].value = x[i].value;
    }
}

// Every block takes room in each of four buckets; lanes of one bucket find each other by matching.
extern "C" __global__ void multi_split(const int* x, int* out, int* used, int room, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  if (i >= n) return;
  unsigned here = __activemask();
  int bucket = x[i] & 3;
  unsigned peers = __match_any_sync(here, bucket);
  int leader = __ffs(peers) - 1, base = 0;
  if (lane == leader) base = atomicAdd(used + bucket, __popc(peers));
  base = __shfl_sync(peers, base, leader);
  out[bucket * room + base + __popc(peers & ((1u << lane) - 1))] = x[i];
}
