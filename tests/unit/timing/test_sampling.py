"""Sampling ends when the figure is known, or when its budget does, and says which."""

import itertools

import pytest

from judge.timing.conditions import reasons_of
from judge.timing.sampling import Conditions, Policy, RatesSample, Samples, middle_rates, sample, summarize


class Steps:
    """A bench and a clock: each sample takes its own time."""

    def __init__(self, times_us, clocks=None):
        self.times = iter(times_us)
        self.clocks = iter(clocks or itertools.repeat(1980))
        self.now = 0.0
        self.taken = 0
        self.looks = 0

    def cold_sample(self, launches):
        time_us = next(self.times)
        self.now += time_us * 1e-6
        self.taken += 1
        return time_us

    def rates_sample(self):
        self.looks += 1
        return RatesSample(4000.0 + self.looks, 3900, 50, 600, 2)

    def conditions(self):
        return Conditions(next(self.clocks), 3201, 41, 500.0, ("power cap",))

    def clock(self):
        return self.now


def timed(steps, policy=None, **hooks):
    policy = policy or Policy()
    return summarize(sample(steps, [], policy, clock=steps.clock, **hooks), policy)


def test_a_steady_kernel_needs_the_least_samples():
    steps = Steps(itertools.repeat(100.0))
    timing = timed(steps)
    assert timing.samples == 21
    assert (timing.median_us, timing.p10_us, timing.p90_us, timing.rel_ci95) == (100, 100, 100, 0)
    assert not timing.noisy
    assert (timing.clock_mhz, timing.memory_clock_mhz, timing.temperature_c, timing.power_w) == (1980, 3201, 41, 500)
    assert timing.limited_by == ("power cap",)
    assert timing.rates.samples == steps.looks == 3, "once before, then with every tenth sample"
    assert timing.rates.read_gbs == 4002


def test_a_noisy_kernel_uses_its_budget_and_says_why_it_is_noisy():
    steps = Steps(itertools.cycle([100.0, 300.0]))
    timing = timed(steps, Policy(budget_s=0.01))
    assert steps.now < 0.012
    assert timing.noisy
    assert timing.noisy_because[0].startswith("the 95% interval of the median is ")
    assert (timing.p10_us, timing.p90_us) == (100, 300)


def test_a_clock_that_moves_makes_a_figure_noisy():
    timing = timed(Steps(itertools.repeat(100.0), itertools.cycle([1980, 1500])))
    assert timing.noisy_because == ("the SM clock moved between 1500 and 1980 MHz",)


def test_a_slow_kernel_stops_with_the_budget_and_six_samples():
    timing = timed(Steps(itertools.repeat(1e6)), Policy(budget_s=1.0))
    assert timing.samples == 7


def test_the_hooks_see_every_repeat_and_only_one_last():
    steps = Steps(itertools.repeat(10.0))
    before, after = [], []
    timing = timed(steps, before=before.append, after=lambda repeat, last: after.append((repeat, last)))
    assert before == list(range(steps.taken)), "warm-ups too"
    assert [repeat for repeat, _ in after] == before[Policy().warm_ups :]
    assert [last for _, last in after] == [False] * (timing.samples - 1) + [True]


def test_too_few_samples_are_noisy_and_still_a_finite_figure():
    timing = summarize(Samples([5.0, 6.0]), Policy())
    assert timing.noisy
    assert timing.noisy_because == ("the 95% interval of the median is unknown from so few samples",)
    assert timing.rel_ci95 == 1.0
    assert timing.clock_mhz is None
    assert timing.rates is None
    assert middle_rates([]) is None


@pytest.mark.parametrize(
    ("bits", "words"),
    [(0, ()), (1, ()), (4, ("power cap",)), (0x28, ("hardware slowdown", "temperature"))],
)
def test_reasons_of_the_driver_in_words(bits, words):
    assert reasons_of(bits) == words
