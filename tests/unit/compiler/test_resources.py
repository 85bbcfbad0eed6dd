"""Figures of a cubin: robust against any bytes."""

import random
import struct

import pytest

from judge.compiler.resources import has_kernel, kernel_resources, with_launches
from judge.records import CompileReport, KernelResources, LaunchReport


def test_no_elf_file_has_no_kernels():
    assert kernel_resources(b"", "", {"k": "k"}, "sm_90") == ()
    assert not has_kernel(b"\x7fELF", "k")


def test_any_bytes_are_survived():
    generator = random.Random(5)
    head = bytearray(b"\x7fELF\x02\x01" + bytes(58))
    for _ in range(300):
        body = generator.randbytes(400)
        struct.pack_into("<Q", head, 0x28, generator.choice([0, 64, 100, 2**63, 2**64 - 1]))
        struct.pack_into(
            "<HHH", head, 0x3A, generator.choice([0, 64, 65]), generator.randrange(8), generator.randrange(8)
        )
        assert kernel_resources(bytes(head) + body, "", {"k": "k"}, "sm_90") == ()


def launch(threads: int, dynamic: int = 0, kernel: str = "k") -> LaunchReport:
    return LaunchReport(text="", kernel=kernel, grid=(1, 1, 1), block=(threads, 1, 1), shared_bytes=dynamic)


@pytest.mark.parametrize(
    ("launches", "warps"),
    [
        ([launch(128)], 36),  # 9 blocks of 4 warps: registers
        ([launch(128), launch(256)], 32),  # the lowest: 4 blocks of 8
        ([launch(128, 40960)], 12),  # dynamic shared memory counts
        ([launch(128, kernel="other")], 32),  # not launched: what was known
    ],
)
def test_occupancy_is_that_of_the_launches_that_ran(launches, warps):
    kernel = KernelResources(name="k", registers=56, shared_bytes=21152, occupancy=0.5)
    report = CompileReport(ok=True, kernels=(kernel,), kernels_arch="sm_90")
    [found] = with_launches(report, launches).kernels
    assert found.occupancy == pytest.approx(warps / 64)
