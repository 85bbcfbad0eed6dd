"""One line of advice for each bad figure, none for a good one."""

import pytest

from judge.advice import advise
from judge.figures import LaunchStatistics, Residency
from judge.records import AccessPattern, BankPattern, BufferTraffic, Counters, LineCounters
from judge.reports.statistics import compact

GOOD = Residency(
    registers=32,
    shared_bytes=0,
    spill_bytes=0,
    blocks=8,
    warps=64,
    max_warps=64,
    occupancy=1.0,
    limited_by=("warps", "registers"),
)


def residency(**changes):
    return GOOD.model_copy(update=changes)


def traffic(read=0, distinct=None, reads=(0, 0, 0), writes=(0, 0, 0)):
    unique = read if distinct is None else distinct
    return BufferTraffic(
        bytes_read=read,
        unique_bytes_read=unique,
        read_amplification=read / unique if unique else None,
        reads=AccessPattern(requests=reads[0], sectors=reads[1], ideal_sectors=reads[2]),
        writes=AccessPattern(requests=writes[0], sectors=writes[1], ideal_sectors=writes[2]),
    )


def told(resident=GOOD, block=(64, 1, 1), minimum_bytes=10, **changes):
    """Advice on one launch with these counters, in a case that needs 100 FLOPs."""
    settings = {"warp_instructions": 100, "thread_instructions": 3200, "flops": 100} | changes
    buffers = settings.get("buffers", {})
    settings["global_bytes_read"] = sum(entry.bytes_read for entry in buffers.values())
    counters = Counters(**settings)
    launch = LaunchStatistics(
        kernel="k", grid=(1, 1, 1), block=block, dynamic_shared_bytes=0, residency=resident, counters=counters
    )
    return advise((launch,), counters, counters.lines, minimum_bytes=minimum_bytes, minimum_flops=100)


def test_good_figures_get_no_advice():
    assert told(buffers={"x": traffic(1280, reads=(10, 40, 40))}) == ()
    assert told(residency(occupancy=0.5, warps=32, limited_by=("blocks",))) == ()
    assert told(None) == ()


@pytest.mark.parametrize(
    ("resident", "words"),
    [
        (residency(spill_bytes=96), "96 bytes are spilled"),
        (
            residency(occupancy=0.25, warps=16, limited_by=("registers",)),
            "16 of 64 warps an SM: to hide more latency, h",
        ),
        (residency(occupancy=0.25, warps=16, limited_by=("shared memory",)), "use smaller tiles"),
        (residency(occupancy=0.0, warps=0, blocks=0, limited_by=("shared memory",)), "not one block fits"),
    ],
)
def test_what_an_sm_holds(resident, words):
    [advice] = told(resident)
    assert (advice.table, advice.subject) == ("launches", "k")
    assert words in advice.message


def test_idle_lanes_name_the_line_that_wastes_most():
    lines = (
        LineCounters(line=3, warp_instructions=10, thread_instructions=320),
        LineCounters(line=5, warp_instructions=90, thread_instructions=90),
    )
    [advice] = told(thread_instructions=410, lines=lines)
    assert advice.line == 5
    assert advice.message.startswith("4.1 of 32 lanes work: let the lanes of a warp")


def test_a_block_smaller_than_a_warp_is_told_as_such():
    [advice] = told(block=(20, 1, 1), thread_instructions=2000)
    assert "a block has 20 threads, 12 lanes of its warp are empty" in advice.message


def test_bank_conflicts():
    lines = (LineCounters(line=8, shared=BankPattern(requests=10, wavefronts=320, ideal_wavefronts=10)),)
    [advice] = told(shared_reads=BankPattern(requests=20, wavefronts=330, ideal_wavefronts=20), lines=lines)
    assert advice.message.startswith("15.5 extra wavefronts a shared request")
    assert advice.line == 8
    assert told(shared_reads=BankPattern(requests=20, wavefronts=21, ideal_wavefronts=20)) == ()


def test_more_work_than_the_case_needs():
    [advice] = told(flops=300)
    assert advice.message.startswith("3.00 times the FLOPs")


def test_flops_are_free_where_memory_sets_the_time():
    assert told(flops=300, minimum_bytes=31) == ()


def test_a_buffer_that_is_read_over_and_over():
    [advice] = told(buffers={"k": traffic(4000, 1000, reads=(32, 128, 128))})
    assert (advice.subject, advice.message[:22]) == ("k", "read 4.0 times over: l")


def test_scattered_requests_name_a_line_of_their_own_buffer():
    lines = (
        LineCounters(line=4, access=AccessPattern(requests=1, sectors=900, ideal_sectors=1), buffers=("other",)),
        LineCounters(line=6, access=AccessPattern(requests=1, sectors=32, ideal_sectors=4), buffers=("q",)),
    )
    buffers = {"q": traffic(128, reads=(1, 32, 4)), "out": traffic(0, writes=(1, 32, 4))}
    read, write = told(buffers=buffers, lines=lines)
    assert (read.subject, read.line) == ("q", 6)
    assert read.message.startswith("a read takes 32.0 sectors where 4.0 would do: let neighbouring lanes read")
    assert (write.subject, write.line) == ("out", None)
    assert "write neighbouring" in write.message


def test_a_buffer_with_little_traffic_may_be_read_as_it_likes():
    buffers = {"k": traffic(100_000, reads=(800, 3200, 3200)), "table": traffic(400, 4, reads=(100, 120, 20))}
    assert told(buffers=buffers) == ()


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 "),
        (999, "999 "),
        (1000, "1 k"),
        (1234, "1.23 k"),
        (67_616_000, "67.6 M"),
        (100_400, "100 k"),
        (999_600, "1 M"),
        (2_207_764_480, "2.21 G"),
    ],
)
def test_large_figures_in_three_digits(count, text):
    assert compact(count) == text
