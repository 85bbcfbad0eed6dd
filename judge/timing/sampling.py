"""Takes cold samples of a case until the median is known well enough.

A sample is what a stopwatch reads around all launches of the case with a cold L2. Sampling ends
when the 95% interval of the median is under 1%, or when the budget of time or samples is spent.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from judge.backends.base import Launch
from judge.records import Timing
from judge.timing.statistics import median, percentile, relative_interval


class Stopwatch(Protocol):
    def cold_sample(self, launches: Sequence[Launch]) -> float:
        """Flush L2, run the launches in order, and return their time in microseconds."""
        ...

    def clock_mhz(self) -> int | None:
        """SM clock right now; None where it cannot be read."""
        ...


@dataclass(frozen=True)
class Policy:
    """When sampling ends.

    least_when_slow: samples of a kernel so slow that the budget ends before `least` of them; six are
    what an interval needs.
    noisy_rel_ci95: an interval still wider than this at the end marks the figure as noisy.
    """

    budget_s: float = 1.0
    warm_ups: int = 3
    least: int = 20
    least_when_slow: int = 6
    most: int = 2000
    target_rel_ci95: float = 0.01
    noisy_rel_ci95: float = 0.02
    check_every: int = 10


def sample(
    stopwatch: Stopwatch,
    launches: Sequence[Launch],
    policy: Policy,
    *,
    before_last: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = time.monotonic,
) -> Timing:
    """Time the launches of a case.

    before_last: called before one more sample at the very end, whose outputs the caller verifies.
    """
    end = clock() + policy.budget_s
    for _ in range(policy.warm_ups):
        stopwatch.cold_sample(launches)
    times: list[float] = []
    clocks: list[int] = []
    while len(times) < policy.most:
        times.append(stopwatch.cold_sample(launches))
        late = clock() >= end
        if len(times) % policy.check_every and not late:
            continue
        mhz = stopwatch.clock_mhz()
        if mhz is not None:
            clocks.append(mhz)
        known = len(times) >= policy.least and relative_interval(sorted(times)) <= policy.target_rel_ci95
        if known or (late and len(times) >= policy.least_when_slow):
            break
    before_last()
    times.append(stopwatch.cold_sample(launches))
    return summarize(times, clocks, policy)


def summarize(times: Sequence[float], clocks: Sequence[int], policy: Policy) -> Timing:
    """A Timing from samples in microseconds and the SM clocks seen meanwhile, in MHz."""
    ordered = sorted(times)
    width = relative_interval(ordered)
    return Timing(
        median_us=median(ordered),
        p10_us=percentile(ordered, 0.1),
        p90_us=percentile(ordered, 0.9),
        samples=len(ordered),
        rel_ci95=width if math.isfinite(width) else 1.0,
        cold=True,
        noisy=width > policy.noisy_rel_ci95,
        clock_mhz=round(median(sorted(clocks))) if clocks else None,
    )
