from dataclasses import replace

import numpy as np

from judge.problem import Buffer, Requirement, Role
from judge.records import AccessPattern, BankPattern, BufferTraffic, Counters
from judge.verification.requirements import (
    baseline_names,
    needs_patterns,
    told_amplification,
    unmet_patterns,
    unmet_requirements,
)
from tests.unit.verification.fakes import make_problem


def counters(**changes):
    traffic = {
        "x": BufferTraffic(bytes_read=2560, unique_bytes_read=640, read_amplification=4.0),
        "scratch": BufferTraffic(bytes_read=10, unique_bytes_read=1, read_amplification=10.0),
    }
    return Counters(**({"buffers": traffic, "flops": 160, "global_bytes_read": 2560} | changes))


def unmet(problem, counted, baseline=lambda name: None):
    case = problem.cases[0]
    return unmet_requirements(problem, case, problem.generate(case, np.random.default_rng(0)), counted, baseline)


def test_reading_a_buffer_four_times_is_told_with_the_figure():
    found = unmet(make_problem(), counters())
    assert [round(u.figure, 3) for u in found] == [4.0]
    assert found[0].message == "Read x once. Here x is read 4.00 times over; the limit is 1.1."


def test_reading_once_is_enough():
    once = {"x": BufferTraffic(bytes_read=640, unique_bytes_read=640, read_amplification=1.0)}
    assert unmet(make_problem(), counters(buffers=once)) == ()


def test_requirement_that_does_not_apply_is_not_checked():
    problem = make_problem(requirements=(Requirement("flops_ratio", 0.1, "Less.", applies=lambda case: False),))
    assert unmet(problem, counters()) == ()


def test_ratios_are_over_what_the_case_needs():
    problem = make_problem(
        requirements=(Requirement("flops_ratio", 1.5, "Fewer."), Requirement("bytes_ratio", 1.5, "Less."))
    )
    found = unmet(problem, counters(flops=320, global_bytes_read=2560, global_bytes_written=0))
    assert [(u.requirement.counter, round(u.figure, 2)) for u in found] == [("flops_ratio", 2.0), ("bytes_ratio", 2.0)]


def test_flops_are_held_against_another_case_of_the_same_kernel():
    problem = make_problem(
        requirements=(Requirement("flops_over_baseline", 0.8, "Skip what is masked.", baseline="full"),)
    )
    asked = []

    def full(name):
        asked.append(name)
        return counters(flops=100)

    assert unmet(problem, counters(flops=80), full) == ()
    [found] = unmet(problem, counters(flops=81), full)
    assert asked == ["full", "full"]
    assert "small takes 0.81 times the floating-point operations that the same kernel does in full" in found.message
    assert unmet(problem, counters(flops=81)) == ()
    assert baseline_names(problem, problem.cases) == ("full",)


def test_the_told_amplification_is_that_of_the_named_buffers_else_of_the_largest():
    long_and_short = {
        "x": BufferTraffic(bytes_read=1280, unique_bytes_read=640, read_amplification=2.0),
        "lengths": BufferTraffic(bytes_read=256, unique_bytes_read=4, read_amplification=64.0),
    }
    lengths = Buffer("lengths", "i32", ("1",), Role.INPUT)
    without = make_problem(requirements=())
    two = replace(without, buffers=(*without.buffers, lengths))
    assert told_amplification(two, counters(buffers=long_and_short)) == 2.0
    asks = Requirement("read_amplification", 9, "Read lengths less.", buffers=("x", "lengths"))
    asked = replace(two, requirements=(asks,))
    assert told_amplification(asked, counters(buffers=long_and_short)) == 64.0
    assert told_amplification(make_problem(), counters()) == 4.0
    assert told_amplification(make_problem(requirements=()), counters()) == 4.0
    assert told_amplification(make_problem(), Counters()) is None


PATTERNS = (
    Requirement("sectors_per_request", 4.5, "Neighbours read neighbours.", ("x", "out")),
    Requirement("bank_conflicts", 0.1, "Pad the tile."),
    Requirement("idle_lanes", 0.25, "Keep lanes busy."),
)


def patterned(sectors, wavefronts, lanes):
    traffic = BufferTraffic(
        reads=AccessPattern(requests=2, sectors=8, ideal_sectors=8),
        writes=AccessPattern(requests=2, sectors=sectors, ideal_sectors=8),
    )
    return Counters(
        warp_instructions=10,
        thread_instructions=10 * lanes,
        shared_reads=BankPattern(requests=4, wavefronts=wavefronts, ideal_wavefronts=4),
        shared_writes=BankPattern(),
        buffers={"out": traffic},
    )


def test_requirements_on_access_patterns():
    problem = make_problem(requirements=PATTERNS)
    assert needs_patterns(problem, problem.cases[0])
    assert unmet_patterns(problem, problem.cases[0], patterned(8, 4, 32)) == ()
    found = unmet_patterns(problem, problem.cases[0], patterned(64, 10, 16))
    assert [entry.message for entry in found] == [
        "Neighbours read neighbours. Here a request of a warp for out takes 32.00 sectors of 32 bytes; "
        "the limit is 4.5.",
        "Pad the tile. Here bank conflicts cost 1.50 extra passes a request to shared memory; the limit is 0.1.",
        "Keep lanes busy. Here 0.50 of the lanes of a warp's instruction take no part; the limit is 0.25.",
    ]


def test_wide_loads_are_few_requests():
    problem = make_problem(requirements=(Requirement("requests_ratio", 1.5, "Read 16 bytes a lane.", ("x",)),))
    assert needs_patterns(problem, problem.cases[0])

    def reading(requests):
        pattern = AccessPattern(requests=requests, sectors=64, ideal_sectors=64)
        return Counters(buffers={"x": BufferTraffic(unique_bytes_read=2048, reads=pattern), "out": BufferTraffic()})

    assert unmet_patterns(problem, problem.cases[0], reading(6)) == ()
    [found] = unmet_patterns(problem, problem.cases[0], reading(8))
    assert found.message == (
        "Read 16 bytes a lane. Here warps read x in 2.00 times as many requests as 16-byte loads of whole warps take; "
        "the limit is 1.5."
    )
    assert unmet_patterns(problem, problem.cases[0], Counters()) == ()


def test_each_pass_checks_its_own_requirements():
    problem = make_problem(requirements=(*PATTERNS, Requirement("flops_ratio", 1.5, "Fewer.")))
    assert [u.requirement.counter for u in unmet(problem, counters(flops=10**6))] == ["flops_ratio"]
    assert unmet_patterns(problem, problem.cases[0], counters(flops=10**6)) == ()
    assert not needs_patterns(make_problem(), make_problem().cases[0])
