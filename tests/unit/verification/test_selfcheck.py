from pathlib import Path

import pytest

from judge.records import Diagnosis, DiagnosisKind
from judge.verdict import Verdict
from judge.verification.package import Expectation, PlantedSubmission
from judge.verification.selfcheck import expectation_faults
from tests.unit.reports.samples import compile_error_report, make_case, make_report, wrong_report


def faults(report, folder="wrong_answer", backend="cpu", **expected):
    return list(expectation_faults(report, PlantedSubmission(Path("x.cu"), folder, Expectation(**expected)), backend))


def test_expected_verdict_case_diagnosis_mutant_and_line():
    report = wrong_report()
    assert faults(report) == []
    assert faults(report, case="tile-plus-1", diagnosis="out_of_bounds", mutant="tail_counted", line=12) == []


@pytest.mark.parametrize(
    ("expected", "sentence"),
    [
        ({"folder": "undefined_behavior"}, "expected undefined_behavior"),
        ({"case": "book"}, "case book was expected to get wrong_answer"),
        ({"diagnosis": "race"}, "expected the diagnosis race, got mutant_match, out_of_bounds"),
        ({"mutant": "zeros"}, "expected a match with the mutant zeros"),
        ({"line": 13}, "expected line 13, got [12]"),
    ],
)
def test_each_difference_is_told(expected, sentence):
    assert sentence in faults(wrong_report(), **expected)


def test_mutant_counts_when_it_is_named_among_those_with_the_same_values():
    message = "Sentence [with a bracket]. [first] (in this case the same values as: second, third)"
    case = make_case(Verdict.WRONG_ANSWER, diagnoses=(Diagnosis(kind=DiagnosisKind.MUTANT_MATCH, message=message),))
    report = make_report(Verdict.WRONG_ANSWER, cases=(case,))
    assert faults(report, mutant="third") == []
    assert faults(report, mutant="bracket") != []


def test_line_of_a_compile_message_counts():
    assert faults(compile_error_report(), folder="compile_error", line=3) == []


def test_cheat_may_get_anything_but_acceptance():
    assert faults(wrong_report(), folder="cheat") == []
    assert faults(make_report(), folder="cheat") == ["a cheat got accepted"]
    assert faults(make_report(Verdict.JUDGE_ERROR), folder="cheat") == ["a cheat got judge_error"]


def test_a_gpu_cannot_prove_undefined_behavior():
    assert faults(make_report(), folder="undefined_behavior", backend="cuda") == []
    assert faults(make_report(), folder="requirement_unmet", backend="cuda") == []
    assert faults(make_report(), folder="wrong_answer", backend="cuda") == ["expected wrong_answer"]
