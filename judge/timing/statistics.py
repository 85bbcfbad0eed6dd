"""Order statistics of a sample of times, without any assumption about their distribution.

Kernel times have a hard floor and a long tail, so means and standard deviations say little. The
interval of the median comes from the binomial distribution of how many samples lie below it.
"""

import math
from collections.abc import Sequence


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which `share` (0 to 1) of a sorted sample lies, linear between neighbors.

    Raises ValueError on an empty sample.
    """
    if not ordered:
        raise ValueError("a percentile needs at least one sample")
    position = share * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def median(ordered: Sequence[float]) -> float:
    return percentile(ordered, 0.5)


def median_interval(ordered: Sequence[float], confidence: float = 0.95) -> tuple[float, float] | None:
    """The narrowest symmetric pair of order statistics that covers the median with that confidence.

    With n samples the count below the true median is binomial (n, 1/2), so samples k and n+1-k
    (1-based) cover it with probability 1 - 2 P(count < k). None when the sample is too small: at
    95% six samples are needed.
    """
    n = len(ordered)
    tail = 0.0
    rank = 0
    while True:
        # P(count <= rank), in logarithms: binomial coefficients of large n overflow a float.
        tail += math.exp(math.lgamma(n + 1) - math.lgamma(rank + 1) - math.lgamma(n - rank + 1) - n * math.log(2))
        if 2 * tail > 1 - confidence:
            break
        rank += 1
    if rank == 0:
        return None
    return ordered[rank - 1], ordered[n - rank]


def relative_interval(ordered: Sequence[float], confidence: float = 0.95) -> float:
    """Half-width of the interval of the median over the median; infinite where there is no interval."""
    interval = median_interval(ordered, confidence)
    middle = median(ordered)
    if interval is None or middle <= 0:
        return math.inf
    return (interval[1] - interval[0]) / 2 / middle
