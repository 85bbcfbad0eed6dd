from pathlib import Path

import pytest

from judge.errors import MachineError
from judge.verification.package import (
    Expectation,
    copy_template,
    hint_files,
    package_faults,
    planted_submissions,
    read_expectation,
)
from tests.unit.verification.fakes import make_problem


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {
        "statement.md": "# Doubling",
        "starter.cu": "// start",
        "hints/1.md": "Think.",
        "hints/2.md": "Think more.",
        "submissions/accepted/plain.cu": "// problem: doubling\n// One thread an element.\n// Simple.\nint x;",
        "submissions/accepted/better.cu": "int x;",
        "submissions/wrong_answer/copied.cu": "// expect-mutant: copied\n// expect-case: small\nint x;",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def faults(folder):
    return list(package_faults(make_problem(folder=folder)))


def test_complete_folder_has_no_fault(folder):
    assert faults(folder) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda f: (f / "statement.md").write_text("  \n"), "statement.md is missing or empty"),
        (lambda f: (f / "starter.cu").unlink(), "starter.cu is missing or empty"),
        (lambda f: (f / "hints/1.md").unlink(), "hints/1.md is missing"),
        (lambda f: (f / "hints/2.md").write_text(""), "hints/2.md is empty"),
        (
            lambda f: (f / "hints/2.md").rename(f / "hints/3.md"),
            "hints/3.md is never shown: hints are 1.md, 2.md, ... without a gap",
        ),
        (
            lambda f: (f / "submissions/wrong_answer").rename(f / "submissions/wrong_anwser"),
            "submissions/wrong_anwser is no verdict; did you mean wrong_answer?",
        ),
        (
            lambda f: (f / "submissions/accepted/better.cu").unlink(),
            "submissions/accepted has 1 kernel; a plain one and a better one are needed",
        ),
        (
            lambda f: (f / "submissions/wrong_answer/copied.cu").unlink(),
            "submissions/wrong_answer is empty: no kernel shows that the cases can fail one",
        ),
        (
            lambda f: (f / "submissions/accepted/notes.txt").write_text("x"),
            "submissions/accepted/notes.txt is no .cu file and never judged",
        ),
        (
            lambda f: (f / "submissions/wrong_answer/copied.cu").write_text("// expect-case: tiny"),
            "wrong_answer/copied.cu expects a case 'tiny' that the problem does not have",
        ),
        (
            lambda f: (f / "submissions/wrong_answer/copied.cu").write_text("// expect-mutant: other"),
            "wrong_answer/copied.cu expects a mutant 'other' that the problem does not have",
        ),
    ],
)
def test_each_planted_mistake_of_an_author_is_found(folder, change, sentence):
    change(folder)
    assert sentence in faults(folder)


def test_header_lines_narrow_what_is_expected(tmp_path):
    path = tmp_path / "x.cu"
    path.write_text("// expect-case: tail\n//expect-diagnosis: race\n// expect-line: 12\n// needs-gpu: sm_90\n")
    assert read_expectation(path) == Expectation(case="tail", diagnosis="race", line=12, gpu="sm_90")


@pytest.mark.parametrize(
    ("header", "word"),
    [
        ("// expect-verdict: x", "unknown"),
        ("// expect-diagnosis: rase", "rase"),
        ("// expect-line: ten", "ten"),
        ("// needs-gpu: yes", "such as sm_90, not 'yes'"),
    ],
)
def test_wrong_header_line_is_refused(tmp_path, header, word):
    path = tmp_path / "x.cu"
    path.write_text(header)
    with pytest.raises(MachineError, match=word):
        read_expectation(path)


def test_submissions_come_with_their_folder(folder):
    assert [s.name for s in planted_submissions(folder)] == [
        "accepted/better.cu",
        "accepted/plain.cu",
        "wrong_answer/copied.cu",
    ]


def test_hints_stop_at_the_first_gap(folder):
    (folder / "hints" / "4.md").write_text("Unreachable.")
    assert [path.name for path in hint_files(folder)] == ["1.md", "2.md"]


def test_template_is_copied_under_its_new_name(tmp_path):
    template = tmp_path / "_template"
    template.mkdir()
    (template / "problem.py").write_text('id="template-id"')
    copy_template(template, tmp_path / "prefix-sum", "prefix-sum")
    assert (tmp_path / "prefix-sum" / "problem.py").read_text() == 'id="prefix-sum"'
    with pytest.raises(MachineError, match="no template"):
        copy_template(tmp_path / "nowhere", tmp_path / "x", "x")
