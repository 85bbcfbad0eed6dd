"""Sampling ends when the figure is known, or when its budget does, and says which."""

import itertools

from judge.timing.sampling import Policy, sample, summarize


class Steps:
    """A stopwatch and a clock: each sample takes its own time."""

    def __init__(self, times_us):
        self.times = iter(times_us)
        self.now = 0.0
        self.taken = 0

    def cold_sample(self, launches):
        time_us = next(self.times)
        self.now += time_us * 1e-6
        self.taken += 1
        return time_us

    def clock_mhz(self):
        return 1000 + self.taken

    def clock(self):
        return self.now


def test_a_steady_kernel_needs_the_least_samples():
    steps = Steps(itertools.repeat(100.0))
    timing = sample(steps, [], Policy(), clock=steps.clock)
    assert timing.samples == 21
    assert (timing.median_us, timing.p10_us, timing.p90_us, timing.rel_ci95) == (100, 100, 100, 0)
    assert not timing.noisy
    assert timing.clock_mhz is not None


def test_a_noisy_kernel_uses_its_budget_and_is_marked():
    steps = Steps(itertools.cycle([100.0, 300.0]))
    timing = sample(steps, [], Policy(budget_s=0.01), clock=steps.clock)
    assert steps.now < 0.012
    assert timing.noisy
    assert timing.p10_us == 100
    assert timing.p90_us == 300


def test_a_slow_kernel_stops_with_the_budget_and_six_samples():
    steps = Steps(itertools.repeat(1e6))
    timing = sample(steps, [], Policy(budget_s=1.0), clock=steps.clock)
    assert timing.samples == 7


def test_the_hook_runs_before_exactly_one_more_sample():
    steps = Steps(itertools.repeat(10.0))
    seen = []
    timing = sample(steps, [], Policy(), before_last=lambda: seen.append(steps.taken), clock=steps.clock)
    assert seen == [steps.taken - 1]
    assert timing.samples == steps.taken - Policy().warm_ups


def test_too_few_samples_are_noisy_and_still_a_finite_figure():
    timing = summarize([5.0, 6.0], [], Policy())
    assert timing.noisy
    assert timing.rel_ci95 == 1.0
    assert timing.clock_mhz is None
