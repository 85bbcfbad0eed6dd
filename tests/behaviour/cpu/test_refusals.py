"""What the CPU backend does not run is refused at the submission's own line."""

import numpy as np
import pytest

from judge.backends.base import BufferLabel, DeviceFault, Launch
from judge.backends.cpu.device import CpuDevice
from tests.zoo.harness import compile_ptx

RECURSION = """__device__ int factorial(int n) {
  if (n < 2) return 1;
  return n * factorial(n - 1);
}
extern "C" __global__ void kernel(float* out) { out[threadIdx.x] = factorial(threadIdx.x % 5); }
"""
TRANSACTIONS = """#include <cuda/barrier>
extern "C" __global__ void kernel(float* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  auto token = cuda::device::barrier_arrive_tx(bar, 1, 0);
  bar.wait(std::move(token));
}
""".replace("std::move", "cuda::std::move")
BULK_COPY = """#include <cuda/ptx>
extern "C" __global__ void kernel(float* out) {
  out[0] = 1.f;
  cuda::ptx::cp_async_bulk_commit_group();
}
"""


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (RECURSION, "line 3: not emulated: recursive function factorial, needs a GPU"),
        (TRANSACTIONS, "line 6: not emulated: mbarrier.arrive.expect_tx"),
        (BULK_COPY, "line 4: not emulated: cp.async.bulk.commit_group"),
    ],
)
def test_refused_at_the_line_that_asks_for_it(source: str, message: str):
    with pytest.raises(DeviceFault) as caught:
        CpuDevice(threads=1).load(compile_ptx(source), source)
    assert caught.value.verdict == "compile_error"
    assert str(caught.value).startswith(message)


TILES = """#include <cooperative_groups.h>
extern "C" __global__ void kernel(float* out) {
  auto tile = cooperative_groups::tiled_partition<64>(cooperative_groups::this_thread_block());
  tile.sync();
  out[threadIdx.x] = tile.thread_rank();
}
"""


def test_tiles_of_several_warps_are_refused_when_a_launch_needs_them():
    device = CpuDevice(threads=1)
    device.load(compile_ptx(TILES), TILES)
    out = device.allocate(BufferLabel("out", 4, (128,), "output"), 512)
    arguments = np.array([out], np.uint64).tobytes()
    with pytest.raises(DeviceFault, match="line 3: not emulated: cooperative groups' tiles of several warps") as caught:
        device.launch(Launch("kernel", (1, 1, 1), (128, 1, 1), 0, arguments), time_limit_s=10)
    assert caught.value.verdict == "compile_error"


def test_what_no_path_reaches_is_not_refused():
    source = """template <bool kRecurse> __device__ int depth(int n) {
  if constexpr (kRecurse) return n ? 1 + depth<true>(n - 1) : 0;
  return n;
}
extern "C" __global__ void kernel(float* out, int n) {
  const int size = 4;
  out[threadIdx.x] = size == 8 ? depth<true>(n) : depth<false>(n);
}
"""
    CpuDevice(threads=1).load(compile_ptx(source), source)
