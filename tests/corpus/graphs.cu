// Sparse matrices and graphs.
extern "C" __global__ void spmv_csr_scalar(const int* starts, const int* columns, const float* values, const float* x, float* y, int rows) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0.0f;
  for (int e = starts[r]; e < starts[r + 1]; ++e) sum += values[e] * x[columns[e]];
  y[r] = sum;
}

// Eight lanes a row: segments of a warp add up on their own.
extern "C" __global__ void spmv_csr_vector(const int* starts, const int* columns, const float* values, const float* x, float* y, int rows) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x, r = thread / 8, lane = thread % 8;
  if (r >= rows) return;
  unsigned mine = 0xffu << (threadIdx.x % 32 & ~7);
  float sum = 0.0f;
  for (int e = starts[r] + lane; e < starts[r + 1]; e += 8) sum += __ldcs(values + e) * __ldg(x + columns[e]);
  for (int d = 4; d > 0; d /= 2) sum += __shfl_down_sync(mine, sum, d, 8);
  if (lane == 0) __stcs(y + r, sum);
}

// Column-major and padded with -1, so that neighbors read neighbors.
extern "C" __global__ void spmv_ell(const int* columns, const double* values, const double* x, double* y, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  double sum = 0.0;
  for (int k = 0; k < width; ++k) {
    int c = columns[k * rows + r];
    if (c < 0) break;
    sum = fma(values[k * rows + r], x[c], sum);
  }
  y[r] = sum;
}

// Sorted by rows: lanes of one row are added up first, and the first of them makes the only atomic.
extern "C" __global__ void spmv_coo(const int3* entries, const float* x, float* y, int count) {
  int e = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  int row = e < count ? entries[e].x : -1;
  float sum = e < count ? __int_as_float(entries[e].z) * x[entries[e].y] : 0.0f;
  for (int d = 1; d < 32; d *= 2) {
    float right = __shfl_down_sync(~0u, sum, d);
    int other = __shfl_down_sync(~0u, row, d);
    if (lane + d < 32 && other == row) sum += right;
  }
  int left = __shfl_up_sync(~0u, row, 1);
  if (row >= 0 && (lane == 0 || left != row)) atomicAdd(y + row, sum);
}

// Sampled product: only where the mask of the pattern has an entry.
extern "C" __global__ void sddmm(const int2* entries, const float4* a, const float4* b, float* out, int count, int quads) {
  int e = blockIdx.x * blockDim.y + threadIdx.y;
  if (e >= count) return;
  int2 at = entries[e];
  float sum = 0.0f;
  for (int q = threadIdx.x; q < quads; q += 16) {
    float4 p = a[at.x * quads + q], r = b[at.y * quads + q];
    sum += p.x * r.x + p.y * r.y + p.z * r.z + p.w * r.w;
  }
  unsigned half = 0xffffu << (threadIdx.y % 2 * 16);
  for (int d = 8; d > 0; d /= 2) sum += __shfl_xor_sync(half, sum, d, 16);
  if (threadIdx.x == 0) out[e] = sum;
}

// One block walks the levels from a node whose level is set; the next frontier collects in shared memory.
extern "C" __global__ void bfs_levels(const int* starts, const int* edges, int* level, int source) {
  __shared__ int frontier[2][64], size[2];
  int t = threadIdx.x, now = 0;
  if (t == 0) frontier[0][0] = source, size[0] = 1;
  for (int depth = 1;; ++depth, now ^= 1) {
    if (t == 0) size[now ^ 1] = 0;
    __syncthreads();
    int count = size[now];
    if (count == 0) return;
    for (int f = t; f < count; f += blockDim.x) {
      int node = frontier[now][f];
      for (int e = starts[node]; e < starts[node + 1]; ++e)
        if (atomicCAS(level + edges[e], -1, depth) == -1) frontier[now ^ 1][atomicAdd(&size[now ^ 1], 1)] = edges[e];
    }
    __syncthreads();
  }
}

__device__ int root_of(volatile int* parent, int v) {
  int up = parent[v];
  while (up != v) v = up, up = parent[v];
  return v;
}

// Union-find by hooking the larger root below the smaller one; then every node is pointed at its root.
extern "C" __global__ void components_hook(const int2* edges, int* parent, int count) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= count) return;
  int a = root_of(parent, edges[e].x), b = root_of(parent, edges[e].y);
  while (a != b) {
    int high = max(a, b), low = min(a, b), seen = atomicCAS(parent + high, high, low);
    if (seen == high) break;
    a = root_of(parent, seen), b = low;
  }
}

extern "C" __global__ void components_flatten(int* parent, int* labels, int nodes) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < nodes) labels[v] = root_of(parent, v);
}

// Floyd and Warshall in shared memory, saturating so that "no way" plus a step stays no way.
extern "C" __global__ void shortest_paths(unsigned short* distance, int n) {
  __shared__ unsigned short d[16][16];
  int r = threadIdx.y, c = threadIdx.x;
  d[r][c] = distance[r * n + c];
  for (int k = 0; k < n; ++k) {
    __syncthreads();
    unsigned by = min((unsigned)d[r][k] + d[k][c], 0xffffu), own = d[r][c];
    __syncthreads();
    d[r][c] = min(own, by);
  }
  distance[r * n + c] = d[r][c];
}

// Triangles of a graph by rows of bits.
extern "C" __global__ void count_triangles(const unsigned long long* rows, int* count, int n) {
  int i = blockIdx.x, j = threadIdx.x, found = 0;
  if (j > i && j < n && rows[i] >> j & 1) found = __popcll(rows[i] & rows[j] & ~((2ull << j) - 1));
  found = __reduce_add_sync(~0u, found);
  if (j % 32 == 0 && found) atomicAdd(count, found);
}
