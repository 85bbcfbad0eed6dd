"""Bench, roofline and compare from files to answers, on a worker that stands in for a GPU."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from judge import catalogue, comparing, pipeline
from judge.cli.main import app
from judge.comparing import Contestant, NotComparableError, bench_cases, compare_submissions
from judge.errors import MachineError, NothingToDoError, UsageError
from judge.events import NullSink
from judge.records import Report
from judge.reports.comparison import render_comparison
from judge.reports.style import Style
from tests.behaviour import test_pipeline_cuda
from tests.behaviour.test_pipeline import RIGHT, changed
from tests.behaviour.test_pipeline_cuda import TIMED

targets = test_pipeline_cuda.targets


@pytest.fixture(autouse=True)
def stand_in(targets, monkeypatch):
    monkeypatch.setattr(comparing, "gpu_present", lambda: True)
    monkeypatch.setattr(comparing, "compile_unit", pipeline.compile_unit)


def against(source, names=(), **settings):
    a, b = Contestant(RIGHT.encode(), "a.cu"), Contestant(source.encode(), "b.cu")
    return compare_submissions(TIMED, a, b, names, NullSink(), budget_s=0.2, **settings)


SLOWER = RIGHT.replace("scale", "slower")


def test_a_kernel_is_no_different_from_itself():
    report = against(RIGHT)
    (case,) = report.cases
    assert (case.case, case.answer) == ("large", "no difference")
    assert case.low <= 1 <= case.high
    assert "large: no difference." in render_comparison(report, Style())


def test_a_slower_kernel_is_found_with_its_interval():
    (case,) = against(SLOWER).cases
    assert case.answer == "slower"
    assert case.low <= 1.1 <= case.high + 0.002
    assert 1.09 < case.low <= case.ratio <= case.high < 1.11


def test_a_wrong_kernel_is_not_compared():
    with pytest.raises(NotComparableError, match=r"b.cu is not right in case large \(wrong answer\)"):
        against(changed("factor * x", "(n > 2000 ? 3.f : factor) * x"))


def test_names_and_machines_are_checked_first(monkeypatch):
    with pytest.raises(UsageError, match=r"no bench case 'one'. Its bench cases: large"):
        bench_cases(TIMED, ("one",))
    with pytest.raises(NothingToDoError):
        bench_cases(replace(TIMED, cases=TIMED.cases[:3]), ())
    monkeypatch.setattr(comparing, "gpu_present", lambda: False)
    with pytest.raises(MachineError, match=r"No NVIDIA GPU.* `judge stats` counts without a GPU"):
        against(RIGHT)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "load_problem", lambda problem_id: TIMED)
    monkeypatch.setattr("judge.cli.inputs.find_problem_of", lambda name, data, flag: TIMED.id)
    for name, source in {"a.cu": RIGHT, "b.cu": SLOWER, "wrong.cu": changed("factor * x", "2 * factor * x")}.items():
        (tmp_path / name).write_text(source)
    return tmp_path


def invoke(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_command_compares_two_files(files):
    ended = invoke("compare", files / "a.cu", files / "b.cu", "--budget", "0.2")
    assert ended.exit_code == 0, ended.output
    assert "large: B is slower, by " in ended.output
    told = json.loads(invoke("compare", files / "a.cu", files / "a.cu", "--budget", "0.2", "--format", "json").stdout)
    assert told["cases"][0]["answer"] == "no difference"


def test_bench_shows_times_tier_and_how_they_were_taken(files):
    ended = invoke("bench", files / "a.cu")
    assert ended.exit_code == 0, ended.output
    words = " ".join(ended.output.split())
    assert "scaling" in words
    assert "silver" in words
    assert "bronze 20%, silver 40%, gold 90% (reads)" in words
    assert "L2 cold, other numbers in every repeat" in words
    wrong = invoke("bench", files / "wrong.cu")
    assert wrong.exit_code == 1
    assert "WRONG ANSWER" in wrong.output


def test_a_roofline_is_drawn_from_a_file_and_again_from_its_report(files):
    ended = invoke("roofline", files / "a.cu", "--svg", files / "picture.svg")
    assert ended.exit_code == 0, ended.output
    assert "A  large: 100.1 us" in ended.output or "A  large: 100.0 us" in ended.output
    assert (files / "picture.svg").read_text().startswith("<svg ")
    report = invoke("bench", files / "a.cu", "--format", "json").stdout
    Report.model_validate_json(report)
    (files / "report.json").write_text(report)
    again = invoke("roofline", files / "report.json")
    assert again.exit_code == 0, again.output
    assert "A  large:" in again.output
    (files / "other.json").write_text("{}")
    assert isinstance(invoke("roofline", files / "other.json").exception, UsageError)
