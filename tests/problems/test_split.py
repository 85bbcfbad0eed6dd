"""The yardstick of split decode: segments, and contexts without a token."""

import numpy as np
import pytest

from judge.catalogue import load_problem
from judge.examples import case_generator
from problems._families import split_mutants
from problems._families.paged import PAGE
from reference.attention import attend
from reference.merge import merge


@pytest.mark.parametrize("context", [1, 15, 16, 17, 127, 128, 129, 320, 1000, 4096])
def test_segments_are_whole_pages_and_cover_the_context_once(context):
    bounds = split_mutants.bounds(context)
    assert len(bounds) == split_mutants.SEGMENTS
    assert [token for first, end in bounds for token in range(first, end)] == list(range(context))
    assert all(first % PAGE == 0 for first, end in bounds if end > first)


@pytest.mark.parametrize("context", [5, 129, 320])
def test_segments_without_a_mistake_give_attention(context):
    rng = np.random.default_rng(3)
    scores, values = rng.standard_normal((2, context)) * 9, rng.standard_normal((context, 4))
    want = attend(scores, values)[0]
    right = split_mutants.merged(lambda *state: merge(*state).o)
    np.testing.assert_allclose(right(scores, values), want, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(split_mutants.summed(True, True)(scores, values), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("problem_id", ["flash-decoding", "long-context-decode"])
def test_out_is_zero_where_there_is_no_token(problem_id):
    problem = load_problem(problem_id)
    seen = 0
    for case in problem.cases:
        empty = np.array(case.extra["contexts"]) == 0
        if not case.cpu or not empty.any():
            continue
        inputs = problem.generate(case, case_generator(case, 5))
        for out in (problem.reference(case, inputs)["out"], problem.naive(case, inputs)["out"]):
            assert (out[empty] == 0).all()
            assert (np.abs(out[~empty]).max(axis=(1, 2)) > 1e-3).all()
        for mutant in problem.mutants:
            spoiled = mutant.compute(case, inputs)["out"][empty]
            assert np.isnan(spoiled).all() if mutant.id == "empty_divided" else (spoiled == 0).all(), mutant.id
        seen += 1
    assert seen
