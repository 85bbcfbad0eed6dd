"""Order statistics against closed forms and against a simulation."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.timing.statistics import median, median_interval, percentile, relative_interval


def test_percentiles_of_a_line():
    line = [float(i) for i in range(11)]
    assert percentile(line, 0.0) == 0
    assert percentile(line, 0.1) == 1
    assert percentile(line, 0.55) == 5.5
    assert percentile(line, 1.0) == 10
    assert median([1.0, 2.0]) == 1.5
    with pytest.raises(ValueError, match="at least one"):
        percentile([], 0.5)


def test_the_interval_uses_the_known_ranks():
    # Ranks of the binomial table: n=6 -> 1 and 6, n=20 -> 6 and 15, n=100 -> 40 and 61.
    for n, low, high in [(6, 1, 6), (20, 6, 15), (100, 40, 61)]:
        assert median_interval([float(i) for i in range(1, n + 1)]) == (low, high)


@pytest.mark.parametrize("n", range(1, 6))
def test_five_samples_have_no_interval(n):
    assert median_interval([1.0] * n) is None
    assert relative_interval([1.0] * n) == math.inf


def test_a_large_sample_does_not_overflow():
    low, high = median_interval([float(i) for i in range(5000)])
    assert 2400 < low < 2500 < high < 2600


def test_the_interval_covers_the_true_median_as_often_as_it_says():
    source = random.Random(7)
    hits = 0
    for _ in range(1000):
        low, high = median_interval(sorted(source.expovariate(1.0) for _ in range(41)))
        hits += low <= math.log(2) <= high
    # At least 95% in truth; 930 is five standard deviations below what 95% gives.
    assert hits >= 930


@given(st.lists(st.floats(0.001, 1e6), min_size=6, max_size=200))
def test_the_interval_holds_the_median(values):
    ordered = sorted(values)
    low, high = median_interval(ordered)
    assert low <= median(ordered) <= high
    assert relative_interval(ordered) >= 0
