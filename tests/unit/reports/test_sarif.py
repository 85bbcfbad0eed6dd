"""SARIF: each fault once, those of the explained case first."""

import json

from judge.records import Diagnosis, DiagnosisKind
from judge.reports.sarif import render_sarif
from judge.verdict import Verdict
from tests.unit.reports.samples import make_case, make_report

WRONG = Verdict.WRONG_ANSWER


def results(*cases, verdict=WRONG):
    run = json.loads(render_sarif(make_report(verdict, cases=cases)))["runs"][0]
    return [(one["ruleId"], one["level"], one["message"]["text"]) for one in run["results"]]


def mutant(name):
    return Diagnosis(kind=DiagnosisKind.MUTANT_MATCH, message=f"It is {name}. [{name}]", hint="Mend it.")


def test_the_explained_case_is_told_first_and_no_other_mistake_is_merged_with_it():
    large = make_case(WRONG, name="large", parameters={"N": 1000}, diagnoses=(mutant("no_scale"),))
    small = make_case(WRONG, name="small", parameters={"N": 2}, diagnoses=(mutant("zeros"),))
    again = make_case(WRONG, name="again", parameters={"N": 3000}, diagnoses=(mutant("no_scale"),))
    assert [text for *_, text in results(small, large, again)] == [
        "case large (and 1 more case): It is no_scale. [no_scale]",
        "case small: It is zeros. [zeros]",
    ]


def test_a_warning_at_the_line_of_an_error_stands_beside_it():
    words = "Thread (1, 0, 0) reads s[0], which thread (0, 0, 0) wrote at line 9; "
    mild = Diagnosis(kind=DiagnosisKind.RACE, line=12, warning=True, message=words + "both leave the same value.")
    fault = Diagnosis(kind=DiagnosisKind.RACE, line=12, message=words + "no barrier lies between.")
    found = results(
        make_case(name="short", diagnoses=(mild,)),
        make_case(Verdict.UNDEFINED_BEHAVIOR, name="long", diagnoses=(fault,)),
        verdict=Verdict.UNDEFINED_BEHAVIOR,
    )
    assert [(level, text.partition(":")[0]) for _, level, text in found] == [
        ("error", "case long"),
        ("warning", "case short"),
    ]


def test_buffers_that_one_line_reads_out_of_bounds_are_told_apart():
    faults = tuple(
        Diagnosis(kind=DiagnosisKind.OUT_OF_BOUNDS, message=f"reads {b} at 4", line=3, buffer=b, hint="Guard it.")
        for b in ("K", "V")
    )
    assert (
        len(results(make_case(Verdict.UNDEFINED_BEHAVIOR, diagnoses=faults), verdict=Verdict.UNDEFINED_BEHAVIOR)) == 2
    )
