"""Occupancy of blocks whose figures were worked out by hand from the tables of the architectures."""

import pytest

from judge.compiler.occupancy import LIMITS, known_architectures, limits_of, occupancy


@pytest.mark.parametrize(
    ("registers", "shared", "threads", "arch", "blocks", "share", "limited_by"),
    [
        # 32 registers a thread are 1024 a warp, 64 warps to the file: 8 blocks of 8 warps.
        (32, 0, 256, "sm_90", 8, 1.0, ("warps", "registers")),
        # 33 round up to 40: 1280 a warp, 12 warps in each quarter of the file, 48 in all.
        (33, 0, 256, "sm_90", 6, 0.75, ("registers",)),
        (64, 0, 256, "sm_90", 4, 0.5, ("registers",)),
        (128, 0, 128, "sm_90", 4, 0.25, ("registers",)),
        # 255 round up to 256: 8192 a warp, 2 in each quarter, so 8 warps.
        (255, 0, 64, "sm_90", 4, 0.125, ("registers",)),
        # One warp a block: the block table is full first.
        (32, 0, 32, "sm_90", 32, 0.5, ("blocks",)),
        # 48 KiB and 1 KiB of the system: 4 in 228 KiB.
        (32, 48 * 1024, 128, "sm_90", 4, 0.25, ("shared memory",)),
        (32, 100 * 1024, 1024, "sm_90", 2, 1.0, ("warps", "registers", "shared memory")),
        # 227 KiB is all that a block may have, and then it is alone.
        (32, 227 * 1024, 128, "sm_90", 1, 4 / 64, ("shared memory",)),
        (32, 227 * 1024 + 1, 128, "sm_90", 0, 0.0, ("shared memory",)),
        (32, 0, 1024, "sm_86", 1, 32 / 48, ("warps",)),
        (32, 0, 64, "sm_86", 16, 32 / 48, ("blocks",)),
        (32, 0, 64, "sm_89", 24, 1.0, ("warps", "blocks")),
        (40, 0, 256, "sm_89", 6, 1.0, ("warps", "registers")),
        # sm_75: 32 warps, 16 blocks, 64 KiB of which the system keeps nothing.
        (32, 0, 256, "sm_75", 4, 1.0, ("warps",)),
        (32, 16 * 1024, 64, "sm_75", 4, 0.25, ("shared memory",)),
        (32, 64 * 1024, 1024, "sm_75", 1, 1.0, ("warps", "shared memory")),
        # sm_80: 164 KiB; 32 KiB and 1 KiB of the system go 4 times.
        (32, 32 * 1024, 256, "sm_80", 4, 0.5, ("shared memory",)),
        (32, 163 * 1024, 256, "sm_80", 1, 0.125, ("shared memory",)),
        (32, 0, 256, "sm_100", 8, 1.0, ("warps", "registers")),
        (80, 48 * 1024, 256, "sm_120", 2, 16 / 48, ("shared memory",)),
        # 160 registers are 5120 a warp: 3 warps in each quarter, 12 in all, one block of 9.
        (160, 0, 288, "sm_90", 1, 9 / 64, ("registers",)),
        # 64 registers times 32 warps fill the file exactly; with 65 a block of 1024 threads does not fit.
        (64, 0, 1024, "sm_90", 1, 0.5, ("registers",)),
        (65, 0, 1024, "sm_90", 0, 0.0, ("registers",)),
        # 5 warps are checked as 8: 8 * 8192 is the whole file, one warp more of registers would not fit.
        (255, 0, 160, "sm_90", 1, 5 / 64, ("registers",)),
        (255, 0, 288, "sm_90", 0, 0.0, ("registers",)),
    ],
)
def test_resident_blocks(registers, shared, threads, arch, blocks, share, limited_by):
    found = occupancy(registers, shared, threads, arch)
    assert (found.blocks, found.limited_by) == (blocks, limited_by)
    assert found.share == pytest.approx(share)


def test_a_kernel_without_registers_is_limited_by_the_table_of_blocks():
    assert occupancy(0, 0, 32, "sm_75").limited_by == ("blocks", "registers", "shared memory")


def test_names_of_architectures():
    assert limits_of("sm_90a") == limits_of("compute_90") == LIMITS[90]
    assert limits_of("sm_999") is None
    assert limits_of("90") is None
    assert occupancy(32, 0, 256, "sm_999") is None
    assert {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"} <= set(known_architectures())


def test_no_thread_has_no_occupancy():
    assert occupancy(32, 0, 0, "sm_90") is None


@pytest.mark.parametrize("arch", known_architectures())
def test_more_of_anything_never_holds_more_blocks(arch):
    sm = limits_of(arch)
    shared = range(0, sm.block_shared_bytes + 4096, 2048)
    for threads in (32, 64, 96, 256, 1024):
        registers = [occupancy(r, 0, threads, arch).blocks for r in range(1, 256)]
        assert registers == sorted(registers, reverse=True)
        by_shared = [occupancy(16, size, threads, arch).blocks for size in shared]
        assert by_shared == sorted(by_shared, reverse=True)
        assert by_shared[-1] == 0
