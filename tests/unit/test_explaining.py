"""Which of several known mistakes a report tells, when single cases agree with more than one, or with a wrong one."""

from dataclasses import replace

import numpy as np
import pytest

from judge.explaining import Explaining, WrongCase
from judge.problem import Case, Group, Mutant
from judge.records import CaseReport
from judge.verdict import Verdict
from judge.verification.compare import explain_case
from judge.verification.telling import is_explained, told_case
from tests.unit.verification.fakes import make_problem

ROWS = (1, 2, 3, 5, 8)


def first_rows_right(rows):
    """A mistake that shows in cases with more rows only, whose later rows are copies."""

    def compute(case, inputs):
        wanted = 2.0 * inputs["x"].astype(np.float64)
        wanted[rows:] = inputs["x"][rows:]
        return {"out": wanted}

    return compute


PROBLEM = make_problem(
    cases=tuple(Case(f"rows-{r}", Group.HIDDEN, {"R": r, "C": 40}, seed=r) for r in ROWS),
    mutants=(
        Mutant("all-but-two", "Rows from the third on are copies.", first_rows_right(2)),
        Mutant("copied", "You forgot to double.", first_rows_right(0)),
        Mutant("all-but-one", "Only the first row is doubled.", first_rows_right(1)),
    ),
)


def finished(got):
    """The reports of a kernel that gives got(case, x), the wrong cases explained as far as they go together."""
    explaining = Explaining(PROBLEM)
    explaining.begin()
    reports = []
    for case in PROBLEM.cases:
        inputs = PROBLEM.generate(case, np.random.default_rng(case.seed))
        outputs = {"out": np.asarray(got(case, inputs["x"]), dtype=np.float32)}
        reference = PROBLEM.reference(case, inputs)
        wrong = not np.allclose(outputs["out"], reference["out"])
        found = explain_case(PROBLEM, case, inputs, outputs, reference) if wrong else ()
        reports.append(
            CaseReport(
                name=case.name,
                group=case.group.value,
                verdict=Verdict.WRONG_ANSWER if wrong else Verdict.ACCEPTED,
                backend="cpu",
                parameters=dict(case.parameters),
                diagnoses=found,
            )
        )
        if wrong:
            explaining.add(reports[-1], WrongCase(case, inputs, outputs, reference, True))
    return explaining.finish(reports)


@pytest.mark.parametrize(("rows", "name"), [(0, "copied"), (1, "all-but-one"), (2, "all-but-two")])
def test_the_mistake_that_most_wrong_cases_agree_with_is_told(rows, name):
    reports = finished(lambda case, x: first_rows_right(rows)(case, {"x": x})["out"])
    told = told_case(reports, Verdict.WRONG_ANSWER)
    assert f"[{name}]" in told.diagnoses[0].message
    wrong = [report for report in reports if report.verdict is Verdict.WRONG_ANSWER]
    assert all(f"[{name}]" in report.diagnoses[0].message for report in wrong)


def test_the_told_case_is_one_with_the_mistake_that_most_cases_have():
    # In the two smallest cases the values are those of one mistake, in the three others those of another one.
    def got(case, x):
        return x if case.parameters["R"] < 3 else first_rows_right(2)(case, {"x": x})["out"]

    told = told_case(finished(got), Verdict.WRONG_ANSWER)
    assert (told.name, "[all-but-two]" in told.diagnoses[0].message) == ("rows-3", True)


def test_what_one_case_agrees_with_by_chance_is_not_told():
    # One row is a copy where there is no other; with more rows all are three times as large.
    reports = finished(lambda case, x: x if case.parameters["R"] == 1 else 3 * x)
    assert sum(report.verdict is Verdict.WRONG_ANSWER for report in reports) == len(ROWS)
    assert not any(map(is_explained, reports))


def test_a_mistake_that_shows_in_few_cases_is_told_of_one(monkeypatch):
    large = Mutant("large", "Large rows are copies.", first_rows_right(0), lambda case: case.parameters["R"] > 5)
    monkeypatch.setitem(globals(), "PROBLEM", replace(PROBLEM, mutants=(large,)))
    reports = finished(lambda case, x: x if case.parameters["R"] > 5 else 3 * x)
    assert [is_explained(report) for report in reports] == [False, False, False, False, True]


def test_a_mistake_that_cannot_show_in_nearly_all_wrong_cases_is_not_told(monkeypatch):
    last = Mutant("last", "The last case is a copy.", first_rows_right(0), lambda case: case.name == "more-10")
    more = tuple(Case(f"more-{n}", Group.HIDDEN, {"R": 6, "C": 40}, seed=n) for n in range(11))
    monkeypatch.setitem(globals(), "PROBLEM", replace(PROBLEM, cases=PROBLEM.cases + more, mutants=(last,)))
    reports = finished(lambda case, x: x if case.name == "more-10" else 3 * x)
    assert not any(map(is_explained, reports))


def test_a_mistake_that_tiles_decide_is_told_of_the_one_case_that_agrees_with_it_alone(monkeypatch):
    mutants = tuple(replace(mutant, depends_on_order=mutant.id == "all-but-two") for mutant in PROBLEM.mutants)
    monkeypatch.setitem(globals(), "PROBLEM", replace(PROBLEM, mutants=mutants))

    def got(case, x):
        return first_rows_right(2)(case, {"x": x})["out"] if case.parameters["R"] == 3 else 3 * x

    assert [is_explained(report) for report in finished(got)] == [False, False, True, False, False]
    monkeypatch.setitem(globals(), "PROBLEM", replace(PROBLEM, mutants=mutants[1:]))
    assert not any(map(is_explained, finished(got)))


def test_of_mistakes_that_give_the_same_the_one_that_is_right_in_fewer_cases_is_told(monkeypatch):
    some = Mutant("some", "Rows are copies where there are two or more.", first_rows_right(0), lambda case: True)
    rare = Mutant("rare", "Six rows are copies.", first_rows_right(0), lambda case: case.parameters["R"] > 5)
    monkeypatch.setitem(globals(), "PROBLEM", replace(PROBLEM, mutants=(some, rare)))
    *_, last = finished(lambda case, x: x if case.parameters["R"] > 5 else 2 * x)
    assert "[rare] (in this case the same values as: some)" in last.diagnoses[0].message


def test_what_two_of_the_wrong_cases_agree_with_is_told():
    reports = finished(lambda case, x: x if case.parameters["R"] < 3 else 3 * x)
    assert [is_explained(report) for report in reports] == [True, True, False, False, False]
