// Cooperative groups: tiles, coalesced threads, copies of the block.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void tile_maxima(const float* x, float* out) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  float v = x[blockIdx.x * blockDim.x + threadIdx.x];
  v = cg::reduce(tile, v, cg::greater<float>());
  if (tile.thread_rank() == 0) out[(blockIdx.x * blockDim.x + threadIdx.x) / 8] = v;
}

extern "C" __global__ void aggregated_append(const int* x, int* out, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0) {
    auto active = cg::coalesced_threads();
    int base = 0;
    if (active.thread_rank() == 0) base = atomicAdd(count, (int)active.size());
    out[active.shfl(base, 0) + active.thread_rank()] = x[i];
  }
}

extern "C" __global__ void group_copy(const float* x, float* out, int n) {
  extern __shared__ float stage[];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, stage, x + blockIdx.x * n, sizeof(float) * n);
  cg::wait(block);
  for (int i = block.thread_rank(); i < n; i += block.size()) out[blockIdx.x * n + i] = stage[n - 1 - i];
}

extern "C" __global__ void tile_matrix_rows(const float* x, float* out, int columns) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
  float sum = 0.0f;
  for (int c = warp.thread_rank(); c < columns; c += warp.size()) sum += x[row * columns + c];
  for (int d = warp.size() / 2; d > 0; d /= 2) sum += warp.shfl_down(sum, d);
  if (warp.thread_rank() == 0) out[row] = sum;
  block.sync();
}

// Groups that data makes: two by a predicate, several by a label.
extern "C" __global__ void parts_of_a_warp(const int* x, int* out) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int v = x[threadIdx.x];
  auto side = cg::binary_partition(warp, v < 15);
  auto kind = cg::labeled_partition(warp, v % 3);
  int* row = out + threadIdx.x * 3;
  row[0] = cg::reduce(side, v, cg::plus<int>());
  row[1] = kind.size(), row[2] = kind.thread_rank();
}

extern "C" __global__ void tile_scan(const int* x, int* out) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int i = blockIdx.x * blockDim.x + threadIdx.x, v = x[i], sum = v, rank = tile.thread_rank();
  for (int d = 1; d < tile.num_threads(); d *= 2) {
    int left = tile.shfl_up(sum, d);
    if (rank >= d) sum += left;
  }
  out[3 * i] = sum, out[3 * i + 1] = tile.shfl(v, (rank + 1) % 16), out[3 * i + 2] = __popc(tile.ballot(v > 0));
}
