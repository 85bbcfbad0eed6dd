// Cooperative groups: block, tiles of 16 and 4, shuffles, votes and reductions in them, coalesced threads.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void tile_sums(const float* in, float* out) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  float value = in[block.thread_rank()];
  for (int d = tile.size() / 2; d > 0; d /= 2) value += tile.shfl_down(value, d);
  if (tile.thread_rank() == 0) out[block.thread_rank() / 16] = value;
  block.sync();
}

extern "C" __global__ void tile_reduce(const int* in, int* out) {
  auto tile = cg::tiled_partition<4>(cg::this_thread_block());
  int v = in[threadIdx.x];
  out[4 * threadIdx.x] = cg::reduce(tile, v, cg::plus<int>());
  out[4 * threadIdx.x + 1] = tile.any(v > 5);
  out[4 * threadIdx.x + 2] = tile.ballot(v & 1);
  out[4 * threadIdx.x + 3] = tile.meta_group_rank();
  if (v > 5) {
    auto active = cg::coalesced_threads();
    out[4 * threadIdx.x + 3] += 100 * active.size();
  }
}
