"""The table of many kernels, from files to rows, on a worker that stands in for a GPU."""

import json
from dataclasses import replace

import pytest

from judge import pipeline
from judge.errors import UsageError
from judge.verdict import Verdict
from tests.behaviour import test_pipeline_cuda
from tests.behaviour.test_pipeline import RIGHT, changed
from tests.behaviour.test_pipeline_cuda import TIMED
from tests.bench import ladder
from tests.bench.ladder import Rung, climb, line, rungs_of, table

targets = test_pipeline_cuda.targets


@pytest.fixture(autouse=True)
def stand_in(targets, monkeypatch):
    monkeypatch.setattr(ladder, "compile_unit", pipeline.compile_unit)


def rung(folder, name, source):
    path = folder / name
    path.write_text(source)
    return Rung(TIMED, path, name)


def test_right_kernels_get_times_and_others_a_reason(tmp_path):
    rungs = [
        rung(tmp_path, "right.cu", RIGHT),
        rung(tmp_path, "wrong.cu", changed("factor * x", "(n > 2000 ? 3.f : factor) * x")),
        rung(tmp_path, "broken.cu", changed("factor * x", "factor * y")),
    ]
    rows = {row["file"]: row for row in climb(rungs, [], 0.1, 60.0)}
    assert {name: row["verdict"] for name, row in rows.items()} == {
        "right.cu": "accepted",
        "wrong.cu": "wrong_answer",
        "broken.cu": "compile_error",
    }
    right = rows["right.cu"]
    assert right["median_us"] == pytest.approx(100.05)
    assert right["gbs"] == pytest.approx(8 * 2**20 / 1e3 / right["median_us"])
    assert right["verified_repeats"] > 0
    assert "broken.cu" in line(rows["broken.cu"])
    assert "y" in rows["broken.cu"]["message"]
    json.dumps(list(rows.values()))
    shown = table(list(rows.values()))
    assert shown[0] == ladder.HEAD
    assert [text.split()[1] for text in shown[1:] if "large" in text] == ["right.cu", "wrong.cu"]


def test_what_the_budget_leaves_out_is_told(tmp_path):
    rows = list(climb([rung(tmp_path, "right.cu", RIGHT)], [], 0.1, -1.0))
    assert [(row["case"], row["verdict"], row["message"]) for row in rows] == [
        ("large", "not_run", "left out for want of time")
    ]


def test_a_case_that_no_problem_has_gives_no_row(tmp_path):
    assert list(climb([rung(tmp_path, "right.cu", RIGHT)], ["small"], 0.1, 60.0)) == []


def test_the_fastest_right_kernel_comes_first_in_each_case():
    row = {
        "problem": "p", "case": "a", "verdict": Verdict.ACCEPTED.value, "message": "", "p10_us": 1.0, "p90_us": 1.0,
        "samples": 3, "gbs": 1.0, "tflops": 1.0, "bound": "memory", "roofline_fraction": None, "noisy": False,
        "refused": "",
    }  # fmt: skip
    rows = [
        row | {"file": "slow", "median_us": 3.0},
        row | {"file": "other-case", "case": "b", "median_us": 1.0},
        row | {"file": "too-good", "median_us": 0.1, "refused": "not credible"},
        row | {"file": "fast", "median_us": 2.0},
        row | {"file": "wrong", "median_us": 1.0, "verdict": "wrong_answer"},
    ]
    assert [text.split()[1] for text in table(rows)[1:]] == ["fast", "slow", "too-good", "wrong", "other-case"]


def test_a_file_says_whose_it_is(tmp_path):
    named = tmp_path / "named.cu"
    named.write_text("// problem: splitk-merge\n")
    (one,) = rungs_of([str(tmp_path)])
    assert (one.problem.id, one.name) == ("splitk-merge", "named.cu")
    assert [one.path for one in rungs_of([str(named), str(tmp_path)])] == [named]
    assert {one.problem.id for one in rungs_of(["splitk-merge"])} == {"splitk-merge"}
    for text, told in (("int x;\n", "does not say whose"), ("// problem: none-such\n", "there is no problem")):
        named.write_text(text)
        with pytest.raises(UsageError, match=told):
            rungs_of([str(named)])
    with pytest.raises(UsageError, match=r"no problem, no \.cu file"):
        rungs_of([str(tmp_path / "absent.cu")])


def test_only_the_cases_asked_for(tmp_path):
    assert [case.name for case in ladder.cases_of(TIMED, [])] == ["large"]
    assert [case.name for case in ladder.cases_of(TIMED, ["arg"])] == ["large"]
    assert ladder.cases_of(replace(TIMED, cases=TIMED.cases[:1]), []) == []
