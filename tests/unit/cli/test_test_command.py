import io
import json
import os
from pathlib import Path

import pytest

from judge.cli.exits import Exit
from judge.errors import MachineError, SubmissionError, UsageError
from judge.records import CompileMessage, CompileReport
from judge.verdict import Verdict
from tests.unit.reports.samples import compile_error_report, make_case, make_report, wrong_report


def write(name, text="// problem: first-step\nint x;\n"):
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return name


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_has_its_exit_code(cli, pipeline, verdict):
    pipeline.answer = make_report(verdict, cases=(make_case(verdict),))
    outcome = cli("test", write("a.cu"))
    assert outcome.code == verdict.exit_code
    assert outcome.out.startswith(verdict.label)


def test_accepted_run_without_a_case_is_nothing_to_do(cli, pipeline):
    pipeline.answer = make_report(cases=())
    assert cli("test", write("a.cu")).code == Exit.NOTHING_TO_DO


def test_options_reach_the_pipeline(cli, pipeline):
    cli(
        "test",
        write("a.cu"),
        "--backend",
        "cpu",
        "--case",
        "small",
        "--case",
        "small",
        "--seed",
        "5",
        "--fail-fast",
        "--schedule",
        "9",
    )
    [(problem, data, name, options)] = pipeline.calls
    assert (problem, data, name) == ("first-step", b"// problem: first-step\nint x;\n", "a.cu")
    assert vars(options) == {
        "backend": "cpu",
        "cases": ("small",),
        "group": "all",
        "seed": 5,
        "fail_fast": True,
        "resources": False,
        "schedule": 9,
    }


def test_json_is_one_value_on_stdout(cli, pipeline):
    pipeline.answer = wrong_report()
    outcome = cli("test", write("a.cu"), "--format", "json")
    assert json.loads(outcome.out)["verdict"] == "wrong_answer"
    assert outcome.code == Exit.NOT_ACCEPTED


@pytest.mark.parametrize(
    ("file", "text", "flag", "problem"),
    [
        ("a.cu", "// problem: second-step\n", None, "second-step"),
        ("first-step.cu", "// problem: second-step\n", None, "second-step"),
        ("a.cu", "/* problem: second-step */\n", None, "second-step"),
        ("a.cu", "int x;\n// Problem:  second-step\n", None, "second-step"),
        ("first-step.cu", "int x;", None, "first-step"),
        ("First_Step.cu", "int x;", None, "first-step"),
        ("second-step/tries/a.cu", "int x;", None, "second-step"),
        ("second-step/first-step.cu", "int x;", None, "first-step"),
        ("first-step.cu", "// problem: second-step\n", "first-step", "first-step"),
    ],
)
def test_problem_comes_from_flag_header_file_or_folder(cli, pipeline, file, text, flag, problem):
    cli("test", write(file, text), *(("--problem", flag) if flag else ()))
    assert pipeline.calls[0][0] == problem


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("missing.cu",), "There is no file missing.cu."),
        (("wrte.cu",), "Did you mean write.cu?"),
        (("nofile.cu",), "There is no file nofile.cu.\n"),
        (("first-step",), "Begin with `judge start first-step`, then `judge test first-step.cu`."),
        (("folder",), "folder is a folder. Give the .cu file in it: inside.cu."),
        (("/dev/null",), "no regular file"),
        (("a\0b",), "cannot be read"),
        (("",), "The name of the file is empty. Give a .cu file, or - for standard input."),
        (("lost.cu",), "lost.cu is a dangling link: gone/far.cu, where it leads, is not there."),
        (("unclear.cu",), "Add --problem ID, or put a line `// problem: ID` among its first 50."),
        (("write.cu", "--problem", "frist-step"), "Did you mean first-step?"),
        (("typo.cu",), "typo.cu:2: No problem is called 'second-stop'. Did you mean second-step?"),
        (("write.cu", "--seed", "-1"), "Invalid value for '--seed': must be at least 0."),
        (("write.cu", "--seed", "x"), "Invalid value for '--seed': must be a whole number."),
        (("write.cu", "--backend", "gpu"), "'--backend': 'gpu' is not one of 'auto', 'cpu', 'cuda'."),
        (("write.cu", "--cases", "sampl"), "'--cases': 'sampl' is not one of 'all', 'sample', 'bench'."),
        (("write.cu", "--case", "small", "--cases", "bench"), "--case and --cases exclude each other"),
        (("write.cu", "--format", "xml"), "Invalid value for '--format': 'xml' is not one of"),
        (("write.cu", "--nonsense"), "--nonsense"),
        ((), "FILE"),
    ],
)
def test_usage_errors_say_what_to_do_and_end_with_2(cli, pipeline, arguments, words):
    write("write.cu")
    write("folder/inside.cu")
    write("unclear.cu", "int x;")
    write("ff_tile.cu")
    write("typo.cu", "int x;\n// problem: second-stop\n")
    Path("lost.cu").symlink_to("gone/far.cu")
    outcome = cli("test", *arguments)
    assert outcome.code == Exit.USAGE
    assert words in outcome.err
    assert "Traceback" not in outcome.err
    assert outcome.out == ""
    assert pipeline.calls == []


def test_permission_error_is_told_as_such(cli, monkeypatch):
    write("a.cu")

    def refuse(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    outcome = cli("test", "a.cu")
    assert outcome.code == Exit.USAGE
    assert outcome.err == "Error: a.cu cannot be read: permission denied.\n"


def test_standard_input_is_a_file_too(cli, pipeline, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"// problem: first-step\n")))
    assert cli("test", "-").code == Exit.ACCEPTED
    assert pipeline.calls[0][1] == b"// problem: first-step\n"


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (UsageError("first-step has no case 'x'."), Exit.USAGE, "usage"),
        (SubmissionError("bad launch line", 3, 5), Exit.COMPILE_ERROR, "submission"),
        (MachineError("no NVRTC"), Exit.JUDGE_OR_MACHINE, "machine"),
        (KeyError("bug"), Exit.JUDGE_OR_MACHINE, "judge"),
    ],
)
def test_errors_become_exit_codes_and_json(cli, pipeline, error, code, kind):
    pipeline.answer = error
    outcome = cli("test", write("a.cu"), "--format", "json")
    assert outcome.code == code
    told = json.loads(outcome.out)["error"]
    assert (told["kind"], told["exit_code"]) == (kind, code)
    assert "Traceback" not in outcome.err


def test_fault_of_the_judge_keeps_its_details_under_an_incident(cli, pipeline, tmp_path):
    pipeline.answer = ZeroDivisionError("a bug")
    outcome = cli("test", write("a.cu"))
    [kept] = (tmp_path / "state" / "kernel-judge" / "incidents").iterdir()
    assert kept.stem in outcome.err
    assert "ZeroDivisionError: a bug" in kept.read_text()
    assert "not your kernel's fault" in outcome.err
    assert "Traceback" not in outcome.err
    assert "Traceback" in cli("--debug", "test", "a.cu").err


def test_interrupt_is_130_without_a_traceback(cli, pipeline):
    pipeline.answer = KeyboardInterrupt()
    outcome = cli("test", write("a.cu"))
    assert outcome.code == Exit.INTERRUPTED
    assert outcome.err.strip() == "Interrupted."
    assert outcome.out == ""


def test_interrupt_is_one_json_value_where_json_is_wanted(cli, pipeline):
    pipeline.answer = KeyboardInterrupt()
    outcome = cli("test", write("a.cu"), "--format", "json")
    assert outcome.code == Exit.INTERRUPTED
    error = {"kind": "interrupted", "message": "Interrupted.", "exit_code": 130}
    assert json.loads(outcome.out) == {"schema_version": 1, "error": error}


def test_compile_error_shows_the_users_line(cli, pipeline):
    pipeline.answer = compile_error_report()
    outcome = cli("test", write("a.cu", "// problem: first-step\nint b;\nint c = fooo;\n"))
    assert "      3 | int c = fooo;" in outcome.out
    assert outcome.code == Exit.COMPILE_ERROR


def test_only_a_whole_accepted_run_is_remembered(cli, pipeline):
    write("a.cu")
    cli("test", "a.cu", "--case", "small")
    cli("test", "a.cu", "--cases", "sample")
    cli("test", "a.cu", "--schedule", "1")
    assert cli("solution", "first-step").code == Exit.USAGE
    cli("test", "a.cu")
    assert cli("solution", "first-step").code == Exit.ACCEPTED


def test_a_model_solution_is_not_the_users_own(cli, pipeline, problems):
    planted = (problems / "first-step" / "submissions" / "accepted" / "plain.cu").read_text()
    outcome = cli("test", write("mine.cu", planted), "--problem", "first-step")
    assert outcome.code == Exit.ACCEPTED
    assert "does not count as solved" in outcome.out
    assert "judge start first-step" in outcome.out
    assert cli("solution", "first-step").code == Exit.USAGE
    cli("test", write("mine.cu", planted + "// and mine"), "--problem", "first-step")
    assert cli("solution", "first-step").code == Exit.ACCEPTED


def test_a_file_that_names_another_problem_is_told_in_one_line(cli, pipeline):
    errors = tuple(CompileMessage(line=2, column=1, message=f'identifier "x{i}" is undefined') for i in range(11))
    compiled = CompileReport(ok=False, errors=errors)
    pipeline.answer = make_report(Verdict.COMPILE_ERROR, compile=compiled, cases=())
    outcome = cli("test", write("a.cu"), "--problem", "second-step")
    note = "note: line 1 of a.cu names first-step; it is judged for second-step, as --problem asks\n"
    assert outcome.err == note
    assert outcome.out.count("is undefined") == 1
    assert "and 10 more messages" in outcome.out
    assert "Without --problem it is judged for that: judge test a.cu\n" in outcome.out
    assert cli("test", "a.cu", "--problem", "first-step").out.count("is undefined") == 10


def test_the_problem_is_filled_into_what_the_reader_of_a_file_says(cli, pipeline):
    empty = CompileReport(ok=False, errors=(CompileMessage(message="the file is empty. Begin: judge start PROBLEM"),))
    pipeline.answer = make_report(Verdict.COMPILE_ERROR, compile=empty, cases=())
    assert "judge start first-step" in cli("test", write("a.cu")).out


HOSTILE_NAMES = {
    os.fsdecode(b"n\xffme.cu"): "n\\xffme.cu",
    "a\nACCEPTED.cu": "a\\nACCEPTED.cu",
    "a\x1b[2J\u202e.cu": "a\\x1b[2J\\u202e.cu",
    "mäße.cu": "mäße.cu",
}


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_file_name_is_shown_as_one_line_that_nothing_obeys(cli, pipeline, name):
    shown = HOSTILE_NAMES[name]
    write(name)
    assert cli("test", name).code == Exit.ACCEPTED
    assert pipeline.calls[0][2] == shown
    other = cli("test", name, "--problem", "second-step")
    assert f"of {shown} names first-step" in other.err
    write(name, "int x;")
    for arguments in ((name,), (f"no-{name}",), (f"{name}/x",), (".",), (name, f"extra-{name}")):
        told = cli("test", *arguments)
        assert told.code == Exit.USAGE
        assert told.out == ""
        first, _, rest = told.err.partition("\n")
        assert shown in first or "extra-" in first
        assert not rest or rest.startswith("Try `judge")
        assert name == shown or name not in told.err
        answer = cli("test", *arguments, "--format", "json").out
        message = json.loads(answer)["error"]["message"]
        assert message.encode() == message.encode("utf-8", errors="ignore")
        assert "\n" not in message


def test_start_shows_a_hostile_name_as_one_line(cli):
    for name, shown in HOSTILE_NAMES.items():
        outcome = cli("start", "first-step", "--output", name)
        assert f"Wrote {shown}. " in outcome.out
        assert outcome.out.count("\n") == 2
        assert f"Error: {shown} exists already." in cli("start", "first-step", "--output", name).err
