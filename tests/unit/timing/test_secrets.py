"""Secrets of a timed case: reproducible with the key, and as random as they claim."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.timing.fresh import Fresh, flipped
from judge.timing.secret import BLOCK_ROWS, MAX_KEPT, VERIFIED_AT_FIRST, VERIFIED_ONE_IN, Secret, new_key


def test_everything_follows_from_the_key():
    key = bytes.fromhex(new_key())
    one, other, third = Secret(key), Secret(key), Secret(bytes(32))
    for n in range(50):
        assert one.seed(n) == other.seed(n) != 0
        assert one.block(n, 1000) == other.block(n, 1000)
    assert [one.verified(n) for n in range(200)] == [other.verified(n) for n in range(200)]
    assert [one.verified(n) for n in range(200)] != [third.verified(n) for n in range(200)]
    assert new_key() != new_key()


def test_a_third_is_verified_and_any_block_may_be():
    secret = Secret(bytes(32))
    assert all(secret.verified(n) for n in range(VERIFIED_AT_FIRST))
    share = sum(secret.verified(n) for n in range(100, 3100)) / 3000
    assert abs(share - 1 / VERIFIED_ONE_IN) < 0.04
    firsts = {secret.block(n, 20)[0] for n in range(200)}
    assert firsts == set(range(20 - BLOCK_ROWS + 1))
    assert secret.block(5, 3) == (0, 3)


def test_of_many_candidates_each_is_kept_equally_often():
    kept_first_half = 0
    for run in range(60):
        secret = Secret(run.to_bytes(32, "little"))
        kept = {}
        for candidate in range(4 * MAX_KEPT):
            place = secret.place(candidate, MAX_KEPT)
            if place < MAX_KEPT:
                kept[place] = candidate
        assert len(kept) == MAX_KEPT
        kept_first_half += sum(candidate < 2 * MAX_KEPT for candidate in kept.values())
    assert abs(kept_first_half / (60 * MAX_KEPT) - 0.5) < 0.05


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint16])
@pytest.mark.parametrize("shape", [(5, 7, 64), (3, 5, 2), (130,), (2, 3, 4, 5), (70000,)])
def test_rows_made_alone_equal_those_of_the_whole(dtype, shape):
    array = (np.random.default_rng(1).random(shape) * 60000).astype(dtype)
    whole = flipped(array, 99)
    assert np.array_equal(flipped(whole, 99), array)
    fresh = Fresh(array, 99)
    last = np.array([size - 1 for size in shape])
    for axes in range(1, len(shape) + 1):
        assert np.array_equal(fresh.take(*last[:axes]), whole[tuple(last[:axes])])
    assert np.array_equal(fresh.take(np.array([1, 0, 1])), whole[[1, 0, 1]])
    assert np.array_equal(Fresh(array, 0).take(np.array([1])), array[[1]])
    with pytest.raises(ValueError, match="axes"):
        fresh.take(*range(len(shape) + 1))


@given(st.integers(1, 2**64 - 1), st.integers(1, 2**64 - 1))
def test_signs_of_two_seeds_differ_in_half_of_the_places(one, other):
    ones = np.ones(4096, np.float32)
    same = (flipped(ones, one) == flipped(ones, other)).mean()
    assert same == 1 if one == other else abs(same - 0.5) < 0.06


def test_values_without_a_number_stay_what_they_are():
    odd = np.array([np.nan, np.inf, 0.0] * 64, np.float32)
    changed = flipped(odd, 7)
    assert np.array_equal(np.isnan(changed), np.isnan(odd))
    assert np.array_equal(np.abs(changed[1::3]), odd[1::3])
