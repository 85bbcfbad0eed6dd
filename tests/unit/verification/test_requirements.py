import numpy as np

from judge.problem import Requirement
from judge.records import BufferTraffic, Counters
from judge.verification.requirements import baseline_names, largest_amplification, unmet_requirements
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


def test_the_largest_amplification_is_that_of_the_named_buffers():
    assert largest_amplification(make_problem(), counters()) == 4.0
    assert largest_amplification(make_problem(requirements=()), counters()) == 4.0
    assert largest_amplification(make_problem(), Counters()) is None
