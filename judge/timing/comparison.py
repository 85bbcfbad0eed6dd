"""Is B faster than A? Times both in turns and answers with an interval of the ratio.

Each pair runs on the same data, in an order that is drawn for it, with a cold L2 before each of the two.
Clocks and temperature drift far more slowly than a pair takes, so the ratio within a pair hardly sees them.
The interval of the median ratio comes from the signs alone (order statistics), so no shape of noise is assumed.
The number of pairs is fixed before the first one that counts: looking at an interval until it says
what one hopes for would find differences that are none.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from judge.timing.statistics import median, median_interval

MARGIN = 0.005
"""Differences below this are none: where a module lies in memory moves a time by as much."""

Answer = Literal["faster", "slower", "no difference"]


@dataclass(frozen=True)
class PairPolicy:
    """How many pairs: what the budget holds after the warm-up, within bounds."""

    budget_s: float = 4.0
    warm_ups: int = 3
    least: int = 21
    most: int = 401


@dataclass(frozen=True)
class Comparison:
    """B against A. ratio: median of time of B over time of A; low and high: its 95% interval.

    answer: what B is. a_us, b_us: median times.
    """

    answer: Answer
    ratio: float
    low: float
    high: float
    pairs: int
    a_us: float
    b_us: float


def sample_pairs(
    run: Callable[[int, bool], float],
    prepare: Callable[[int], None],
    swapped: Callable[[int], bool],
    policy: PairPolicy,
    clock: Callable[[], float],
) -> tuple[tuple[float, float], ...]:
    """(time of A, time of B) of every pair.

    run: times one of them on the data of a repeat, True for B. prepare: makes that data. swapped: B goes first.
    """

    def pair(repeat: int) -> tuple[float, float]:
        prepare(repeat)
        if swapped(repeat):
            b = run(repeat, True)
            return run(repeat, False), b
        a = run(repeat, False)
        return a, run(repeat, True)

    began = clock()
    for repeat in range(policy.warm_ups):
        pair(repeat)
    each = max((clock() - began) / policy.warm_ups, 1e-6)
    count = max(policy.least, min(policy.most, int(policy.budget_s / each)))
    return tuple(pair(policy.warm_ups + number) for number in range(count))


def compare(pairs: Sequence[tuple[float, float]], confidence: float = 0.95) -> Comparison:
    """What the pairs say. Raises ValueError for fewer than six, which have no interval."""
    ratios = sorted(math.log(b / a) for a, b in pairs)
    interval = median_interval(ratios, confidence)
    if interval is None:
        raise ValueError(f"{len(pairs)} pairs are too few for an interval")
    low, high = (math.exp(value) for value in interval)
    answer: Answer = "no difference"
    if high < 1 - MARGIN:
        answer = "faster"
    elif low > 1 + MARGIN:
        answer = "slower"
    return Comparison(
        answer=answer,
        ratio=math.exp(median(ratios)),
        low=low,
        high=high,
        pairs=len(pairs),
        a_us=median(sorted(a for a, _ in pairs)),
        b_us=median(sorted(b for _, b in pairs)),
    )
