// C = A B in float: one element a thread, tiles, register blocks, two buffers, split sums.
extern "C" __global__ void gemm_naive(const float* a, const float* b, float* c, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
  c[row * n + column] = sum;
}

#define TILE 16
extern "C" __global__ void gemm_tiled(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float as[TILE][TILE], bs[TILE][TILE + 1];
  int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int start = 0; start < k; start += TILE) {
    as[threadIdx.y][threadIdx.x] = row < m && start + threadIdx.x < k ? a[row * k + start + threadIdx.x] : 0.0f;
    bs[threadIdx.y][threadIdx.x] = start + threadIdx.y < k && column < n ? b[(start + threadIdx.y) * n + column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

// 64 x 64 a block, 4 x 4 a thread, A transposed on its way to shared memory.
extern "C" __global__ void gemm_blocked(const float* a, const float* b, float* c, int n, int k) {
  __shared__ __align__(16) float as[8][64], bs[8][64];
  int t = threadIdx.x, tx = t % 16, ty = t / 16;
  const float* a_tile = a + blockIdx.y * 64 * k;
  const float* b_tile = b + blockIdx.x * 64;
  float sum[4][4] = {};
  for (int start = 0; start < k; start += 8) {
    if (t < 128) {
      float4 v = *(const float4*)(a_tile + (t / 2) * k + start + (t % 2) * 4);
      as[t % 2 * 4 + 0][t / 2] = v.x;
      as[t % 2 * 4 + 1][t / 2] = v.y;
      as[t % 2 * 4 + 2][t / 2] = v.z;
      as[t % 2 * 4 + 3][t / 2] = v.w;
    } else {
      int u = t - 128;
      *(float4*)&bs[u / 16][u % 16 * 4] = *(const float4*)(b_tile + (start + u / 16) * n + u % 16 * 4);
    }
    __syncthreads();
    for (int i = 0; i < 8; ++i) {
      float4 p = *(float4*)&as[i][ty * 4], q = *(float4*)&bs[i][tx * 4];
      float pa[4] = {p.x, p.y, p.z, p.w}, qa[4] = {q.x, q.y, q.z, q.w};
      for (int y = 0; y < 4; ++y)
        for (int x = 0; x < 4; ++x) sum[y][x] = fmaf(pa[y], qa[x], sum[y][x]);
    }
    __syncthreads();
  }
  for (int y = 0; y < 4; ++y)
    *(float4*)(c + (blockIdx.y * 64 + ty * 4 + y) * n + blockIdx.x * 64 + tx * 4) =
        make_float4(sum[y][0], sum[y][1], sum[y][2], sum[y][3]);
}

__device__ __forceinline__ void copy16(void* shared, const void* global, bool inside) {
  unsigned where = (unsigned)__cvta_generic_to_shared(shared);
  int bytes = inside ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(where), "l"(global), "r"(bytes) : "memory");
}

// 32 x 32 a block, the next tile on its way while this one is multiplied; rows past m are zero-filled.
extern "C" __global__ void gemm_async(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ __align__(16) float as[2][32][32], bs[2][32][32];
  int t = threadIdx.x, row = t / 8, quad = t % 8 * 4;
  int from_row = blockIdx.y * 32 + row;
  auto fetch = [&](int stage, int start) {
    bool inside = from_row < m;
    copy16(&as[stage][row][quad], a + (inside ? from_row : 0) * k + start + quad, inside);
    copy16(&bs[stage][row][quad], b + (start + row) * n + blockIdx.x * 32 + quad, true);
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  float4 sum = make_float4(0, 0, 0, 0);
  fetch(0, 0);
  for (int start = 0, stage = 0; start < k; start += 32, stage ^= 1) {
    if (start + 32 < k) {
      fetch(stage ^ 1, start + 32);
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    for (int i = 0; i < 32; ++i) {
      float p = as[stage][row][i];
      float4 q = *(float4*)&bs[stage][i][quad];
      sum.x += p * q.x, sum.y += p * q.y, sum.z += p * q.z, sum.w += p * q.w;
    }
    __syncthreads();
  }
  if (from_row < m) *(float4*)(c + from_row * n + blockIdx.x * 32 + quad) = sum;
}

extern "C" __global__ void gemm_split(const float* a, const float* b, float* c, int m, int n, int k, int chunk) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m * n) return;
  float sum = 0.0f;
  int end = min(k, (int)(blockIdx.y + 1) * chunk);
  for (int p = blockIdx.y * chunk; p < end; ++p) sum += a[i / n * k + p] * b[p * n + i % n];
  atomicAdd(c + i, sum);
}

extern "C" __global__ void gemv_warp(const float* a, const float* x, float* y, int m, int k) {
  int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= m) return;
  float sum = 0.0f;
  for (int i = lane; i < k; i += 32) sum += __ldg(a + row * k + i) * __ldg(x + i);
  for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
  if (lane == 0) y[row] = sum;
}

extern "C" __global__ void gemm_batched(const float* a, const float* b, float* c, int n) {
  const float* pa = a + blockIdx.z * n * n;
  const float* pb = b + blockIdx.z * n * n;
  int row = threadIdx.y + blockIdx.y * 8, column = threadIdx.x + blockIdx.x * 8;
  if (row >= n || column >= n) return;
  double sum = 0.0;
  for (int i = 0; i < n; ++i) sum = fma((double)pa[row * n + i], (double)pb[i * n + column], sum);
  c[blockIdx.z * n * n + row * n + column] = (float)sum;
}

// Stream-K: the steps of all tiles in a row, cut evenly; a block may end one tile and begin another.
extern "C" __global__ void gemm_stream_k(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float as[16][9], bs[8][16];
  int t = threadIdx.x, across = n / 16, steps = k / 8, total = m / 16 * across * steps;
  int from = (int)((long long)total * blockIdx.x / gridDim.x), to = (int)((long long)total * (blockIdx.x + 1) / gridDim.x);
  float sum[4] = {};
  for (int s = from; s < to; ++s) {
    int tile = s / steps, start = s % steps * 8, row = tile / across * 16, column = tile % across * 16;
    for (int e = t; e < 128; e += 64) {
      as[e / 8][e % 8] = a[(row + e / 8) * k + start + e % 8];
      bs[e / 16][e % 16] = b[(start + e / 16) * n + column + e % 16];
    }
    __syncthreads();
    for (int i = 0; i < 8; ++i)
      for (int r = 0; r < 4; ++r) sum[r] += as[t / 16 * 4 + r][i] * bs[i][t % 16];
    __syncthreads();
    if (s + 1 == to || (s + 1) % steps == 0)
      for (int r = 0; r < 4; ++r) {
        atomicAdd(&c[(row + t / 16 * 4 + r) * n + column + t % 16], sum[r]);
        sum[r] = 0.0f;
      }
  }
}

// Outer products in registers: a lane keeps a column, the other operand comes by shuffles.
extern "C" __global__ void gemm_outer_warp(const float* at, const float* b, float* c, int k) {
  int lane = threadIdx.x;
  float sum[16] = {};
  for (int i = 0; i < k; ++i) {
    float p = lane < 16 ? at[i * 16 + lane] : 0.0f, q = b[i * 32 + lane];
#pragma unroll
    for (int r = 0; r < 16; ++r) sum[r] = __fmaf_rn(__shfl_sync(~0u, p, r), q, sum[r]);
  }
#pragma unroll
  for (int r = 0; r < 16; ++r) c[r * 32 + lane] = sum[r];
}

enum class Order { Rows, Columns };

template <Order order>
struct View {
  const float* data;
  int stride;
  __device__ float operator()(int r, int c) const {
    if constexpr (order == Order::Rows) return data[r * stride + c];
    else return data[c * stride + r];
  }
};

template <typename A, typename B>
__device__ float row_by_column(A a, B b, int r, int c, int k) {
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += a(r, i) * b(i, c);
  return sum;
}

// C = alpha A' B' + beta C, the operands seen through views.
extern "C" __global__ void gemm_transposed(const float* a, const float* b, float* c, int m, int n, int k, float alpha, float beta) {
  int r = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= m || column >= n) return;
  float product = row_by_column(View<Order::Columns>{a, m}, View<Order::Columns>{b, k}, r, column, k);
  c[r * n + column] = alpha * product + beta * c[r * n + column];
}

// Only tiles on and below the diagonal have a block; its number gives row and column by a root.
extern "C" __global__ void syrk_triangle(const float* a, float* c, int n, int k) {
  int b = blockIdx.x, tile_row = (int)((sqrtf(8.0f * b + 1.0f) - 1.0f) * 0.5f);
  if ((tile_row + 1) * (tile_row + 2) / 2 <= b) ++tile_row;
  int tile_column = b - tile_row * (tile_row + 1) / 2;
  int r = tile_row * 8 + threadIdx.y, column = tile_column * 8 + threadIdx.x;
  if (r >= n || column > r) return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += a[r * k + i] * a[column * k + i];
  c[r * n + column] = sum;
}

// Problems of unlike sizes in one launch: blocks take tiles of 8 x 4 in turn and look up whose they are.
extern "C" __global__ void gemm_grouped(const int3* sizes, const float* a, const float* b, float* c, int problems) {
  for (int tile = blockIdx.x;; tile += gridDim.x) {
    int p = 0, left = tile;
    const float *pa = a, *pb = b;
    float* pc = c;
    for (; p < problems; ++p) {
      int tiles = (sizes[p].x + 7) / 8 * ((sizes[p].y + 3) / 4);
      if (left < tiles) break;
      left -= tiles;
      pa += sizes[p].x * sizes[p].z, pb += sizes[p].z * sizes[p].y, pc += sizes[p].x * sizes[p].y;
    }
    if (p == problems) return;
    int3 size = sizes[p];
    int across = (size.y + 3) / 4, r = left / across * 8 + threadIdx.y, column = left % across * 4 + threadIdx.x;
    if (r >= size.x || column >= size.y) continue;
    float sum = 0.0f;
    for (int i = 0; i < size.z; ++i) sum += pa[r * size.z + i] * pb[i * size.y + column];
    pc[r * size.y + column] = sum;
  }
}
