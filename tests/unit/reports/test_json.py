import json
import math

import jsonschema
import pytest

from judge.records import ErrorSummary, Report, report_schema
from judge.reports.json import render_json
from tests.unit.reports.samples import compile_error_report, make_case, make_report, timed_report, wrong_report


@pytest.mark.parametrize("report", [make_report(), wrong_report(), compile_error_report(), timed_report()])
def test_report_is_one_json_value_that_its_schema_accepts(report):
    value = json.loads(render_json(report))
    jsonschema.Draft202012Validator(report_schema()).validate(value)
    assert Report.model_validate_json(render_json(report)) == report


def test_figures_that_json_cannot_say_are_null():
    report = make_report(cases=(make_case(error=ErrorSummary(max_rel=math.inf, total=1)),))
    assert json.loads(render_json(report))["cases"][0]["error"]["max_rel"] is None


def test_nothing_in_it_is_obeyed_by_a_terminal_and_nothing_is_lost():
    name = "\x9b2J \u202e \U000e0001 \ud800 \u00fc"
    report = make_report(message=name)
    data = render_json(report)
    data.encode("ascii")
    assert json.loads(data)["message"] == name


def test_figures_without_a_word_in_json_are_null():
    data = render_json(make_report(seconds=float("nan")))
    assert json.loads(data)["seconds"] is None
