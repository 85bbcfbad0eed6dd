"""Counters of several launches together."""

from judge.records import AccessPattern, BankPattern, BufferTraffic, Counters, InstructionMix, LineCounters
from judge.tallies import active_lanes, add_counters, extra_wavefronts, sectors_per_request, shared_pattern


def test_counters_of_two_launches_add_up():
    one = Counters(
        flops=5,
        instructions=InstructionMix(memory=2),
        shared_reads=BankPattern(requests=1, wavefronts=2, ideal_wavefronts=1),
        buffers={"k": BufferTraffic(bytes_read=100, unique_bytes_read=100, reads=AccessPattern(requests=1, sectors=4))},
        lines=(LineCounters(line=7, branches=1), LineCounters(line=9)),
    )
    two = Counters(
        flops=7,
        barriers=1,
        instructions=InstructionMix(memory=1, special=3),
        buffers={
            "k": BufferTraffic(bytes_read=100, unique_bytes_read=50, reads=AccessPattern(requests=1, sectors=8)),
            "v": BufferTraffic(bytes_written=4),
        },
        lines=(LineCounters(line=7, branches=2, access=AccessPattern(requests=1)), LineCounters(line=3)),
    )
    total = add_counters(one, two)
    assert (total.flops, total.barriers) == (12, 1)
    assert total.instructions == InstructionMix(memory=3, special=3)
    assert total.shared_reads == one.shared_reads
    assert total.buffers["k"] == BufferTraffic(
        bytes_read=200, unique_bytes_read=100, read_amplification=2.0, reads=AccessPattern(requests=2, sectors=12)
    )
    assert total.buffers["v"].bytes_written == 4
    assert [(entry.line, entry.branches) for entry in total.lines] == [(3, 0), (7, 3), (9, 0)]
    assert total.lines[1].access.requests == 1


def test_distinct_bytes_are_those_of_both_launches_where_they_are_known():
    half = Counters(buffers={"k": BufferTraffic(bytes_read=60, unique_bytes_read=60)})
    assert add_counters(half, half, {"k": 100}).buffers["k"].read_amplification == 1.2
    assert add_counters(half, half).buffers["k"].read_amplification == 2.0


def test_figures_of_nothing_are_none():
    assert sectors_per_request(AccessPattern()) is None
    assert extra_wavefronts(BankPattern()) is None
    assert active_lanes(Counters()) is None
    assert shared_pattern(Counters()) == BankPattern()


def test_figures_a_request():
    assert sectors_per_request(AccessPattern(requests=4, sectors=18, ideal_sectors=16)) == 4.5
    both = Counters(
        shared_reads=BankPattern(requests=3, wavefronts=9, ideal_wavefronts=3),
        shared_writes=BankPattern(requests=1, wavefronts=4, ideal_wavefronts=4),
    )
    assert extra_wavefronts(shared_pattern(both)) == 1.5
    assert active_lanes(Counters(warp_instructions=2, thread_instructions=33)) == 16.5
