import math

import numpy as np

from judge.problem import Case, Group
from judge.verification.killmatrix import HEAD_ROOM, kill_matrix, measure_headroom
from tests.unit.verification.fakes import make_problem

SMALL = Case("small", Group.SAMPLE, {"R": 2, "C": 8})
LARGER = Case("larger", Group.HIDDEN, {"R": 3, "C": 9})


def inputs_of(problem):
    return lambda case: problem.generate(case, np.random.default_rng(3))


def test_first_case_that_rejects_a_mutant_is_named():
    problem = make_problem(cases=(SMALL, LARGER))
    matrix = kill_matrix(problem, problem.cases, inputs_of(problem), full=False)
    assert {kill.mutant: kill.cases for kill in matrix} == {
        "zeros": ("small",),
        "copied": ("small",),
        "harmless": (),
        "everything-nan": ("small",),
    }


def test_full_matrix_names_every_case():
    problem = make_problem(cases=(SMALL, LARGER))
    matrix = kill_matrix(problem, problem.cases, inputs_of(problem), full=True)
    assert matrix[0].cases == ("small", "larger")


def test_headroom_is_that_of_the_tightest_element():
    problem = make_problem()
    measured = measure_headroom(problem, SMALL, inputs_of(problem)(SMALL))
    assert HEAD_ROOM < measured.factor < 1000
    assert (measured.case, measured.output) == ("small", "out")
    assert 0 < measured.slice_share < 0.1


def test_exact_yardstick_has_infinite_headroom():
    problem = make_problem(naive=lambda case, inputs: {"out": (2 * inputs["x"]).astype(np.float32)})
    assert math.isinf(measure_headroom(problem, SMALL, inputs_of(problem)(SMALL)).factor)


def test_yardstick_that_gives_nan_has_no_headroom():
    problem = make_problem(naive=lambda case, inputs: {"out": np.full(inputs["x"].shape, np.nan, np.float32)})
    assert measure_headroom(problem, SMALL, inputs_of(problem)(SMALL)).factor == 0.0
