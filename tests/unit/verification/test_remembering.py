"""A problem that keeps what it computed gives what the problem itself gives."""

import functools

import numpy as np
import pytest

from judge.catalogue import load_problem
from judge.examples import case_generator
from judge.verification import remembering as module
from judge.verification.remembering import remembering

SEED = 3
OF_A_CASE = functools.partial(case_generator, seed=SEED)


@pytest.fixture
def plain():
    return load_problem("splitk-merge")


@pytest.fixture
def kept(plain):
    return remembering(plain, OF_A_CASE)


@pytest.fixture
def case(plain):
    return next(case for case in plain.cases if case.seed is None and case.cpu)


def same(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name])


def computed(problem, case, inputs):
    with np.errstate(all="ignore"):
        yield problem.reference(case, inputs)
        yield problem.naive(case, inputs)
        for mutant in problem.mutants:
            yield mutant.compute(case, inputs)


def test_every_function_gives_what_it_gave_without_a_memory_and_the_same_arrays_again(plain, kept, case):
    inputs = kept.generate(case, OF_A_CASE(case))
    wanted = plain.generate(case, OF_A_CASE(case))
    same(inputs, wanted)
    assert kept.generate(case, OF_A_CASE(case)) is inputs
    for ours, theirs in zip(computed(kept, case, inputs), computed(plain, case, wanted), strict=True):
        same(ours, theirs)
    assert all(a is b for a, b in zip(computed(kept, case, inputs), computed(kept, case, inputs), strict=True))


def test_what_is_kept_cannot_be_changed_by_who_uses_it(kept, case):
    inputs = kept.generate(case, OF_A_CASE(case))
    for arrays in (inputs, *computed(kept, case, inputs)):
        assert not any(array.flags.writeable for array in arrays.values())


def test_other_inputs_are_computed_with(plain, kept, case):
    kept.reference(case, kept.generate(case, OF_A_CASE(case)))
    other = kept.generate(case, case_generator(case, SEED + 1))
    same(other, plain.generate(case, case_generator(case, SEED + 1)))
    same(kept.reference(case, other), plain.reference(case, other))
    assert all(array.flags.writeable for array in other.values())


def test_nothing_is_kept_beyond_the_limit(monkeypatch, plain, kept, case):
    monkeypatch.setattr(module, "KEPT_BYTES", 0)
    inputs = kept.generate(case, OF_A_CASE(case))
    assert kept.generate(case, OF_A_CASE(case)) is not inputs
    same(kept.reference(case, inputs), plain.reference(case, inputs))
