"""The order of blocks and warps that a schedule gives, the same on both executors."""

import numpy as np
import pytest

from judge.backends.base import BufferLabel, Launch
from judge.backends.cpu.device import CpuDevice
from tests.zoo.harness import compile_ptx

TICKETS = """__device__ unsigned int next;
extern "C" __global__ void kernel(float* out) {
  if (threadIdx.x % 32 == 0) out[3 * (blockIdx.x + 5 * blockIdx.y) + threadIdx.x / 32] = atomicAdd(&next, 1);
}
"""
"""Each warp of 10 blocks of 3 draws a ticket."""


def tickets(schedule: int, *, jit: bool) -> list[int]:
    device = CpuDevice(jit=jit)
    device.load(compile_ptx(TICKETS), TICKETS)
    address = device.allocate(BufferLabel("out", 4, (30,), "output"), 120)
    launch = Launch("kernel", (5, 2, 1), (96, 1, 1), 0, np.array([address], np.uint64).tobytes())
    device.launch(launch, time_limit_s=5, schedule=schedule)
    return np.frombuffer(device.download(address, 120), np.float32).astype(int).tolist()


@pytest.mark.parametrize("jit", [True, False])
def test_as_numbered_and_backwards(jit):
    assert tickets(0, jit=jit) == list(range(30))
    assert tickets(1, jit=jit) == list(range(29, -1, -1))


def test_a_shuffled_order_is_one_of_blocks_and_of_warps_in_each():
    drawn = np.array(tickets(7, jit=True)).reshape(10, 3)
    assert sorted(drawn.ravel()) == list(range(30))
    first = drawn.min(axis=1)
    assert sorted(first) == list(range(0, 30, 3))
    assert len({tuple(row) for row in drawn - first[:, None]}) == 1
    assert first.tolist() not in (list(range(0, 30, 3)), list(range(27, -1, -3)))


@pytest.mark.parametrize("schedule", [2, 7, 2**31 - 1])
def test_both_executors_run_in_the_same_order(schedule):
    assert tickets(schedule, jit=True) == tickets(schedule, jit=False)
