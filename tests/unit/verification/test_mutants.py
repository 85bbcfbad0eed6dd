from dataclasses import replace

import numpy as np
import pytest

from judge.problem import Mutant
from judge.records import DiagnosisKind
from judge.verification.mutants import explain_by_mutant, shows
from tests.unit.verification.fakes import make_problem


@pytest.fixture
def problem():
    return make_problem()


def explained(problem, got):
    case = problem.cases[0]
    inputs = problem.generate(case, np.random.default_rng(0))
    outputs = {"out": np.asarray(got(inputs["x"]), dtype=np.float64)}
    return explain_by_mutant(problem, case, inputs, outputs, problem.reference(case, inputs))


def test_answer_of_a_known_mistake_is_named_with_its_sentence(problem):
    diagnosis = explained(problem, lambda x: x)
    assert diagnosis.kind is DiagnosisKind.MUTANT_MATCH
    assert diagnosis.message == "You forgot to double. [copied]"
    assert diagnosis.hint == "You forgot to double."


def test_unknown_mistake_is_not_explained(problem):
    assert explained(problem, lambda x: 3 * x) is None


def test_mutant_that_gives_the_right_answer_explains_nothing(problem):
    assert explained(problem, lambda x: 2.0 * x.astype(np.float64)) is None


def test_all_nan_proves_nothing(problem):
    assert explained(problem, lambda x: np.full(x.shape, np.nan)) is None


def first_row_of_nothing(case, inputs):
    """A mistake that leaves no key to the first row, so that it is 0 / 0, and copies the others."""
    found = inputs["x"].astype(np.float64)
    found[0] = np.nan
    return {"out": found}


@pytest.mark.parametrize(("stored", "told"), [(np.nan, True), (0.0, True), (1.0, False)])
def test_a_kernel_may_store_zero_where_a_mistake_divides_nothing_by_nothing(stored, told):
    problem = make_problem(mutants=(Mutant("empty-row", "The first row sees no key.", first_row_of_nothing),))

    def got(x):
        return np.vstack([np.full_like(x[:1], stored), x[1:]])

    assert (explained(problem, got) is not None) is told


@pytest.mark.parametrize("known", [("zeros", "everything-nan"), ("everything-nan",)])
def test_zeros_where_a_mistake_gives_nan_alone_tell_that_mistake_only_beside_another(known):
    problem = make_problem()
    problem = replace(problem, mutants=tuple(one for one in problem.mutants if one.id in known))
    diagnosis = explained(problem, np.zeros_like)
    if "zeros" in known:
        assert "[zeros] (in this case the same values as: everything-nan)" in diagnosis.message
    else:
        assert diagnosis is None


def test_the_mistake_that_says_when_it_shows_is_told_first():
    problem = make_problem(
        mutants=(
            Mutant("vague", "Something.", lambda case, inputs: {"out": inputs["x"]}),
            Mutant("exact", "One head.", lambda case, inputs: {"out": inputs["x"]}, applies=lambda case: True),
            Mutant("elsewhere", "Not here.", lambda case, inputs: {"out": inputs["x"]}, applies=lambda case: False),
        )
    )
    diagnosis = explained(problem, lambda x: x)
    assert diagnosis.message == "One head. [exact] (in this case the same values as: vague)"


@pytest.mark.parametrize(("mutant", "killed"), [("zeros", True), ("harmless", False), ("everything-nan", True)])
def test_a_case_kills_a_mutant_when_it_rejects_its_outputs(problem, mutant, killed):
    case = problem.cases[0]
    inputs = problem.generate(case, np.random.default_rng(0))
    chosen = next(m for m in problem.mutants if m.id == mutant)
    assert shows(problem, case, inputs, chosen, problem.reference(case, inputs)) is killed


def test_the_advice_of_a_mistake_is_its_hint():
    problem = make_problem()
    zeros = replace(problem.mutants[0], sentence="Your output is zero: store what was computed.")
    assert zeros.advice == "Store what was computed."
    assert problem.mutants[1].advice == "You forgot to double."
