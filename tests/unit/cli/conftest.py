"""The command line in this process, over a small problems folder and a pipeline that answers as told."""

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from judge.catalogue import load_problem
from judge.cli.main import run
from judge.records import ProblemReference
from tests.unit.reports.samples import make_report

PROBLEM_SOURCE = """
from tests.unit.verification.fakes import make_problem

PROBLEM = make_problem(id="{id}", title="{id}", summary="About {id}.")
"""


@dataclass
class Outcome:
    code: int
    out: str
    err: str


@dataclass
class FakePipeline:
    """answer: a report, or an exception to raise. calls: (problem id, data, name, options) of each call."""

    answer: object = field(default_factory=make_report)
    calls: list = field(default_factory=list)

    def judge_submission(self, problem, data, name, options, sink):
        self.calls.append((problem.id, data, name, options))
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer.model_copy(update={"problem": ProblemReference(id=problem.id, version=problem.version)})


@pytest.fixture
def problems(tmp_path, monkeypatch):
    """Two problems, first-step and second-step, in a folder of their own."""
    folder = tmp_path / "root" / "problems"
    for name in ("first-step", "second-step"):
        for path, text in {
            "problem.py": PROBLEM_SOURCE.format(id=name),
            "statement.md": f"# {name}\n\nDo it.",
            "starter.cu": "// a start\n",
            "hints/1.md": "First hint.",
            "hints/2.md": "Second hint.",
            "submissions/accepted/plain.cu": "// Plain and simple.\nint x;\n",
        }.items():
            target = folder / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    monkeypatch.setenv("JUDGE_PROBLEMS", str(folder))
    load_problem.cache_clear()
    yield folder
    load_problem.cache_clear()


@pytest.fixture
def pipeline(monkeypatch):
    fake = FakePipeline()
    module = types.ModuleType("judge.pipeline")
    module.judge_submission = fake.judge_submission
    monkeypatch.setitem(sys.modules, "judge.pipeline", module)
    return fake


@pytest.fixture
def cli(problems, pipeline, tmp_path, monkeypatch, capsys) -> Callable[..., Outcome]:
    """Call `judge` with arguments in an empty working folder with its own state folder."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["/usr/bin/judge", *arguments])
        with pytest.raises(SystemExit) as ended:
            run()
        captured = capsys.readouterr()
        return Outcome(ended.value.code, captured.out, captured.err)

    return call
