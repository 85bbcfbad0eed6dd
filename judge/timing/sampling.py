"""Takes cold samples of a case until the median is known well enough.

    warm up -> [fresh data, poison -> cold sample -> keep outputs?] ... -> one more, always kept

A sample is what a bench reads around all launches of the case with a cold L2. Sampling ends when the
95% interval of the median is under 1%, or when the budget of time or samples is spent. What the device
can do at best is sampled in between, so that both figures come from the same clocks and temperature.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from judge.backends.base import Launch
from judge.records import Rates, Timing
from judge.timing.statistics import median, percentile, relative_interval

CLOCK_SWING = 0.05
"""A clock that moved by more than this share while a case was sampled makes its figure noisy."""


@dataclass(frozen=True)
class Conditions:
    """State of the device at one moment; None where it cannot be read. limited_by: why clocks are held down."""

    clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    temperature_c: int | None = None
    power_w: float | None = None
    limited_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class RatesSample:
    """One reading of what the device can do, in the units of records.Rates."""

    read_gbs: float
    copy_gbs: float
    f32_tflops: float
    f16_tflops: float
    overhead_us: float


class Bench(Protocol):
    """A device that can be timed."""

    def cold_sample(self, launches: Sequence[Launch]) -> float:
        """Flush L2, run the launches in order, wait until the device is idle; their time in microseconds."""
        ...

    def rates_sample(self) -> RatesSample: ...

    def conditions(self) -> Conditions: ...


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


@dataclass
class Samples:
    """What was read. times_us: of each timed repeat; conditions and rates: in between."""

    times_us: list[float] = field(default_factory=list)
    rates: list[RatesSample] = field(default_factory=list)
    conditions: list[Conditions] = field(default_factory=list)

    def look(self, bench: Bench) -> None:
        """Read the device's state and what it can do now."""
        self.conditions.append(bench.conditions())
        self.rates.append(bench.rates_sample())


def sample(
    bench: Bench,
    launches: Sequence[Launch],
    policy: Policy,
    *,
    before: Callable[[int], None] = lambda repeat: None,
    after: Callable[[int, bool], None] = lambda repeat, last: None,
    clock: Callable[[], float] = time.monotonic,
) -> Samples:
    """Time the launches of a case.

    before: called before each repeat with its number, warm-ups included; a kernel cannot tell those.
    after: called after each timed repeat with its number and whether it is the last.
    """
    end = clock() + policy.budget_s
    samples = Samples()
    times = samples.times_us
    repeat = 0
    for _ in range(policy.warm_ups):
        if repeat and clock() >= end:
            break
        before(repeat)
        bench.cold_sample(launches)
        repeat += 1
    samples.look(bench)
    while len(times) < policy.most:
        before(repeat)
        times.append(bench.cold_sample(launches))
        after(repeat, False)
        repeat += 1
        late = clock() >= end
        if len(times) % policy.check_every and not late:
            continue
        samples.look(bench)
        known = len(times) >= policy.least and relative_interval(sorted(times)) <= policy.target_rel_ci95
        if known or (late and len(times) >= policy.least_when_slow):
            break
    before(repeat)
    times.append(bench.cold_sample(launches))
    after(repeat, True)
    return samples


def summarize(samples: Samples, policy: Policy) -> Timing:
    """A Timing from samples."""
    ordered = sorted(samples.times_us)
    width = relative_interval(ordered)
    seen = samples.conditions
    clocks = [c.clock_mhz for c in seen if c.clock_mhz is not None]
    temperatures = [c.temperature_c for c in seen if c.temperature_c is not None]
    powers = [c.power_w for c in seen if c.power_w is not None]
    memory = [c.memory_clock_mhz for c in seen if c.memory_clock_mhz is not None]
    reasons = _noise(width, clocks, policy)
    return Timing(
        median_us=median(ordered),
        p10_us=percentile(ordered, 0.1),
        p90_us=percentile(ordered, 0.9),
        samples=len(ordered),
        rel_ci95=width if math.isfinite(width) else 1.0,
        cold=True,
        noisy=bool(reasons),
        noisy_because=reasons,
        clock_mhz=round(median(sorted(clocks))) if clocks else None,
        memory_clock_mhz=round(median(sorted(memory))) if memory else None,
        temperature_c=max(temperatures, default=None),
        power_w=max(powers, default=None),
        limited_by=tuple(dict.fromkeys(reason for c in seen for reason in c.limited_by)),
        rates=middle_rates(samples.rates),
    )


def _noise(width: float, clocks: Sequence[int], policy: Policy) -> tuple[str, ...]:
    reasons = []
    if width > policy.noisy_rel_ci95:
        figure = f"{width:.1%}" if math.isfinite(width) else "unknown from so few samples"
        reasons.append(f"the 95% interval of the median is {figure}")
    if clocks and max(clocks) - min(clocks) > CLOCK_SWING * max(clocks):
        reasons.append(f"the SM clock moved between {min(clocks)} and {max(clocks)} MHz")
    return tuple(reasons)


def middle_rates(samples: Sequence[RatesSample]) -> Rates | None:
    """The median of each rate; None without samples."""
    if not samples:
        return None

    def middle(name: str) -> float:
        return median(sorted(getattr(one, name) for one in samples))

    names = ("read_gbs", "copy_gbs", "f32_tflops", "f16_tflops", "overhead_us")
    return Rates(**{name: middle(name) for name in names}, samples=len(samples))
