"""What verifies timed repeats gives, row by row, what the reference gives for the whole."""

import numpy as np
import pytest

from judge.catalogue import find_problems, load_problem
from judge.examples import case_generator
from judge.problem import Group
from judge.timing.fresh import flipped
from judge.verification.timed import takers

SEED = 0x1234567890ABCDEF
CASES = [
    (problem_id, case.name)
    for problem_id in find_problems()
    for case in load_problem(problem_id).cases
    if case.cpu and case.family in {"random", "uniform", "holes"}
]


@pytest.mark.parametrize(("problem_id", "name"), CASES, ids=lambda value: value)
def test_rows_equal_the_reference_with_the_signs_of_a_repeat(problem_id, name):
    problem = load_problem(problem_id)
    case = problem.case(name)
    inputs = problem.generate(case, case_generator(case, 7))
    timed = problem.timed
    rows = np.arange(timed.rows(case))
    signed = {key: flipped(array, SEED) if key in timed.signed else array for key, array in inputs.items()}
    got = timed.reference_rows(case, takers(timed, inputs, SEED), rows)
    for output, want in problem.reference(case, signed).items():
        assert np.allclose(np.reshape(got[output], want.shape), want, rtol=1e-9, atol=1e-9), output


@pytest.mark.parametrize("problem_id", find_problems())
def test_every_problem_says_how_its_bench_cases_are_timed(problem_id):
    problem = load_problem(problem_id)
    assert problem.timed is not None
    for case in problem.cases:
        if case.group is Group.BENCH:
            rows = problem.timed.rows(case)
            for buffer in problem.outputs:
                assert int(np.prod(buffer.extent(case.parameters))) % rows == 0
    tiers = problem.timed.tiers
    assert 0 < tiers.bronze < tiers.silver < tiers.gold <= 1
    assert [tiers.of(share) for share in (tiers.gold, tiers.silver, tiers.bronze, 0)] == [
        "gold",
        "silver",
        "bronze",
        None,
    ]
