"""Figures of a cubin: robust against any bytes."""

import random
import struct

from judge.compiler.resources import has_kernel, kernel_resources


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
