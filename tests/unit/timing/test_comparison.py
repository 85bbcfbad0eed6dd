"""Comparisons find what is there and nothing else."""

import random

import pytest

from judge.timing.comparison import PairPolicy, compare, sample_pairs


def noisy_pairs(source, ratio, count=101, noise=0.01, drift=0.2):
    """Pairs on a device that slows down by a fifth while they are taken."""
    pairs = []
    for i in range(count):
        level = 100 * (1 + drift * i / count)
        pairs.append(tuple(level * r * source.lognormvariate(0, noise) for r in (1.0, ratio)))
    return pairs


def test_the_same_kernel_is_no_different_from_itself():
    source = random.Random(5)
    alarms = sum(compare(noisy_pairs(source, 1.0)).answer != "no difference" for _ in range(400))
    assert alarms <= 20, "at most one in twenty"


@pytest.mark.parametrize(("ratio", "answer"), [(1.03, "slower"), (0.97, "faster")])
def test_three_percent_are_found(ratio, answer):
    source = random.Random(6)
    found = [compare(noisy_pairs(source, ratio)) for _ in range(200)]
    assert all(one.answer == answer for one in found)
    assert sum(one.low <= ratio <= one.high for one in found) >= 180


def test_what_is_within_the_margin_is_no_difference():
    assert compare([(1000.0, 1004.0)] * 50).answer == "no difference"
    assert compare([(1000.0, 1006.0)] * 50).answer == "slower"


def test_five_pairs_say_nothing():
    with pytest.raises(ValueError, match="5 pairs"):
        compare([(1.0, 2.0)] * 5)


def test_pairs_run_in_the_drawn_order_on_data_of_their_own_and_are_counted_beforehand():
    now = [0.0]
    calls = []

    def run(repeat, second):
        now[0] += 0.05
        calls.append((repeat, second))
        return 2.0 if second else 1.0

    pairs = sample_pairs(run, calls.append, lambda n: n % 2 == 1, PairPolicy(budget_s=3.0), lambda: now[0])
    assert pairs == ((1.0, 2.0),) * 30
    assert calls[:6] == [0, (0, False), (0, True), 1, (1, True), (1, False)]
    assert len(calls) == 3 * (3 + 30)
    few = sample_pairs(run, calls.append, lambda n: False, PairPolicy(budget_s=0.0), lambda: now[0])
    assert len(few) == PairPolicy().least
