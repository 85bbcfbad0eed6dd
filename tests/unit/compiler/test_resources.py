"""Figures of a cubin: robust against any bytes; occupancy against CUDA's calculator."""

import random
import struct

import pytest

from judge.compiler.resources import has_kernel, kernel_resources, occupancy


@pytest.mark.parametrize(
    ("registers", "shared", "threads", "arch", "expected"),
    [
        # From NVIDIA's occupancy calculator: 64 warps an SM on sm_90 and sm_80, 48 on sm_86 and sm_89.
        (32, 0, 256, "sm_90", 1.0),
        (33, 0, 256, "sm_90", 0.75),
        (64, 0, 256, "sm_90", 0.5),
        (128, 0, 128, "sm_90", 0.25),
        (255, 0, 64, "sm_90", 0.125),
        (32, 0, 32, "sm_90", 0.5),
        (32, 48 * 1024, 128, "sm_90", 0.25),
        (32, 100 * 1024, 1024, "sm_90", 1.0),
        (32, 0, 1024, "sm_86", 2 / 3),
        (32, 0, 256, "sm_89", 1.0),
        (32, 0, 256, "sm_90a", 1.0),
    ],
)
def test_occupancy(registers, shared, threads, arch, expected):
    assert occupancy(registers, shared, threads, arch) == pytest.approx(expected)


def test_occupancy_of_an_unknown_architecture_is_unknown():
    assert occupancy(32, 0, 256, "sm_999") is None


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
