"""Exact counters of small kernels, each figure worked out by hand."""

import pytest

from judge.records import AccessPattern, BankPattern
from judge.tallies import active_lanes, total_instructions
from tests.unit.cpu.counted import counted, run_counted

WHOLE = {"float2": "v.x + v.y", "float4": "v.x + v.y + v.z + v.w"}
"""All parts of a vector, so that the compiler loads all of it."""


@pytest.mark.parametrize(
    ("index", "requests", "sectors", "ideal"),
    [
        ("x", 1, 4, 4),  # 128 bytes in a row
        ("x + 1", 1, 5, 4),  # the same, four bytes further: one sector more
        ("2 * x", 1, 8, 4),  # 256 bytes, half of them used
        ("8 * x", 1, 32, 4),  # a sector a lane
        ("1000 - x", 1, 5, 4),  # backwards: elements 969 to 1000, which no sector's edge begins or ends
        ("1023 - x", 1, 4, 4),
        ("x / 2", 1, 2, 2),  # 16 words
        ("5", 1, 1, 1),  # one word for all
        ("(x % 2) * 512 + x / 2", 1, 4, 4),  # two runs of 64 bytes
    ],
)
def test_sectors_of_a_load(index, requests, sectors, ideal):
    found = counted(f"  out[x] = in[{index}];")
    pattern = AccessPattern(requests=requests, sectors=sectors, ideal_sectors=ideal)
    assert found.counters.buffers["in"].reads == pattern
    assert found.counters.buffers["out"].writes == AccessPattern(requests=1, sectors=4, ideal_sectors=4)
    assert found.counters.buffers["in"].writes == AccessPattern()
    assert found.line("out[x]").access.sectors == sectors + 4
    assert found.line("out[x]").buffers == ("in", "out")


@pytest.mark.parametrize(
    ("type_", "index", "sectors", "ideal"),
    [
        ("float2", "x", 8, 8),
        ("float4", "x", 16, 16),
        ("float4", "2 * x", 32, 16),  # 16 of each 32 bytes
        ("float4", "x / 8", 2, 2),
        ("unsigned char", "x", 1, 1),
        ("unsigned char", "32 * x", 32, 1),
        ("short", "x", 2, 2),
        ("double", "x", 8, 8),
    ],
)
def test_sectors_of_wider_and_narrower_types(type_, index, sectors, ideal):
    found = counted(f"  {type_} v = reinterpret_cast<const {type_}*>(in)[{index}]; out[x] = {WHOLE.get(type_, 'v')};")
    reads = found.counters.buffers["in"].reads
    assert (reads.requests, reads.sectors, reads.ideal_sectors) == (1, sectors, ideal)


def test_only_active_lanes_take_part():
    found = counted("  if (x < 9) out[8 * x] = in[x];")
    assert found.counters.buffers["in"].reads == AccessPattern(requests=1, sectors=2, ideal_sectors=2)
    assert found.counters.buffers["out"].writes == AccessPattern(requests=1, sectors=9, ideal_sectors=2)


def test_blocks_on_several_threads_add_up():
    found = counted("  out[32 * blockIdx.x + x] = in[x];", grid=37)
    assert found.counters.buffers["out"].writes == AccessPattern(requests=37, sectors=148, ideal_sectors=148)


SHARED = "  __shared__ float t[2048];\n  for (int i = x; i < 2048; i += blockDim.x) t[i] = 0.f;\n  __syncthreads();\n"


@pytest.mark.parametrize(
    ("index", "wavefronts"),
    [
        ("x", 1),
        ("x + 7", 1),
        ("5", 1),  # one word for all: a broadcast
        ("x / 2", 1),  # two lanes at each word
        ("2 * x", 2),
        ("3 * x", 1),  # odd strides meet every bank once
        ("4 * x", 4),
        ("32 * x", 32),  # all in one bank
        ("33 * x", 1),  # a row of padding
        ("(x % 2) * 32", 2),  # two words of one bank
        ("(x ^ 1)", 1),
    ],
)
def test_bank_conflicts_of_four_bytes(index, wavefronts):
    found = counted(f"{SHARED}  out[x] = t[{index}];")
    expected = BankPattern(requests=1, wavefronts=wavefronts, ideal_wavefronts=1)
    assert found.line("out[x] =").shared == expected
    assert found.counters.shared_reads == expected
    assert found.counters.shared_writes == BankPattern(requests=64, wavefronts=64, ideal_wavefronts=64)


@pytest.mark.parametrize(
    ("type_", "index", "wavefronts", "ideal"),
    [
        ("float2", "x", 2, 2),  # two half warps, each over all banks once
        ("float2", "16 * x", 32, 2),  # 128 bytes apart: every lane of a half at the same two banks
        ("float2", "17 * x", 2, 2),
        ("float2", "2 * x", 4, 2),
        ("float4", "x", 4, 4),  # four quarters
        ("float4", "8 * x", 32, 4),
        ("float4", "9 * x", 4, 4),
        ("float4", "0", 4, 4),
        ("unsigned char", "x", 1, 1),  # four lanes a word
        ("unsigned char", "128 * x", 32, 1),
        ("short", "2 * x", 1, 1),
        ("short", "64 * x", 32, 1),
    ],
)
def test_bank_conflicts_of_other_widths(type_, index, wavefronts, ideal):
    found = counted(f"{SHARED}  {type_} v = reinterpret_cast<{type_}*>(t)[{index}]; out[x] = {WHOLE.get(type_, 'v')};")
    reads = found.counters.shared_reads
    assert (reads.requests, reads.wavefronts, reads.ideal_wavefronts) == (1, wavefronts, ideal)


def test_stores_conflict_as_loads_do():
    found = counted(f"{SHARED}  t[16 * x] = 1.f;\n  __syncthreads();\n  out[x] = t[x];")
    assert found.line("16 * x").shared == BankPattern(requests=1, wavefronts=16, ideal_wavefronts=1)


def test_half_a_warp_has_half_the_conflicts():
    found = counted(f"{SHARED}  if (x < 10) out[x] = t[32 * x];")
    assert found.counters.shared_reads == BankPattern(requests=1, wavefronts=10, ideal_wavefronts=1)
    wide = counted(f"{SHARED}  if (x < 10) out[x] = reinterpret_cast<float4*>(t)[x].x;", block=32)
    assert wide.counters.shared_reads.requests == 1


def test_atomics_count_as_writes_and_not_as_conflicts():
    found = counted(f"{SHARED}  atomicAdd(&t[0], 1.f); out[x] = 0.f; atomicAdd(&out[x / 16], in[x]);")
    assert found.counters.shared_writes == BankPattern(requests=64, wavefronts=64, ideal_wavefronts=64)
    assert found.counters.buffers["out"].writes == AccessPattern(requests=2, sectors=5, ideal_sectors=5)


@pytest.mark.parametrize(("pitch", "wavefronts"), [(4, 4), (32, 32), (36, 4)])
def test_matrix_rows_conflict_by_eights(pitch, wavefronts):
    """Four matrices of eight rows of 16 bytes. Rows 128 bytes apart all begin in one bank."""
    body = f"""{SHARED}  unsigned a = (unsigned)__cvta_generic_to_shared(&t[{pitch} * x]), p, q, r, s;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%0, %1, %2, %3}}, [%4];"
               : "=r"(p), "=r"(q), "=r"(r), "=r"(s) : "r"(a));
  out[x] = p + q + r + s;"""
    assert counted(body).counters.shared_reads == BankPattern(requests=1, wavefronts=wavefronts, ideal_wavefronts=4)


def test_asynchronous_copies_read_sectors_and_write_banks():
    body = """  __shared__ __align__(16) float t[128];
  unsigned a = (unsigned)__cvta_generic_to_shared(&t[4 * x]);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(a), "l"(in + 8 * x) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  out[x] = t[x];"""
    found = counted(body)
    assert found.counters.buffers["in"].reads == AccessPattern(requests=1, sectors=32, ideal_sectors=16)
    assert found.counters.shared_writes == BankPattern(requests=1, wavefronts=4, ideal_wavefronts=4)


def test_branches_that_part_a_warp():
    """Warp 0 parts at x < 10, warp 1 goes one way; at x < 32 both go one way."""
    found = counted("  if (x < 10) out[x] = 1.f;\n  if (x < 32) out[64 + x] = 2.f;", block=64, debug=True)
    assert (found.line("x < 10").branches, found.line("x < 10").parted_branches) == (2, 1)
    assert (found.line("x < 32").branches, found.line("x < 32").parted_branches) == (2, 0)
    assert found.counters.parted_branches == 1


def test_lanes_that_leave_early_part_the_warp_too():
    found = counted("  if (x >= 20) return;\n  out[x] = in[x];\n  out[x] = 2.f * in[x];", block=32, debug=True)
    assert found.line("x >= 20").parted_branches == 1
    assert active_lanes(found.line("out[x] = 2")) == 20.0


def test_a_loop_whose_lanes_end_one_by_one_parts_the_warp_each_time():
    """Lane x runs x rounds: the branch is taken 32 times by the warp, and parts it 31 times before the last."""
    found = counted("  float s = 0.f;\n  for (int i = 0; i < x; ++i) s += in[i];\n  out[x] = s;", debug=True)
    line = found.line("for (int i")
    assert line.parted_branches == 31
    assert line.branches == 32


def test_active_lanes_of_a_short_block():
    assert active_lanes(counted("  out[x] = in[x];", block=8).counters) == 8.0


def test_instructions_are_counted_by_class():
    body = "  out[x] = sqrtf(in[x]) + __shfl_xor_sync(0xffffffffu, in[x + 32], 1);\n  __syncthreads();"
    found = counted(body, grid=2, block=64)
    mix = found.counters.instructions
    assert mix.collective == 4  # a shuffle a warp
    assert mix.special == 4  # a square root
    assert mix.floating_point == 4  # the addition
    assert mix.memory == 12  # two loads and a store
    assert mix.barrier == found.counters.barriers == 4
    assert mix.matrix == 0
    assert total_instructions(mix) == found.counters.warp_instructions


TWO_KERNELS = """extern "C" __global__ void first(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }
extern "C" __global__ void second(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x + 24]; }
"""


def test_distinct_bytes_of_two_launches_are_those_of_both():
    """Elements 0 to 31, then 24 to 55: 64 read, 56 of them different."""
    first, second = run_counted(TWO_KERNELS)
    assert (first.unique["in"], second.unique["in"]) == (128, 224)
    assert second.counters.buffers["in"].unique_bytes_read == 128


def test_patterns_are_counted_only_when_asked_for():
    found = counted("  out[x] = in[x];", patterns=False)
    assert found.counters.buffers["in"].reads is None
    assert found.counters.shared_reads is None
    assert found.counters.lines == ()
    assert found.counters.buffers["in"].bytes_read == 128
