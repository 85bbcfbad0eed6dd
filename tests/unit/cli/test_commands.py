import json
import os
from pathlib import Path

import jsonschema
import pytest

from judge.cli.exits import Exit
from judge.cli.program import as_typed, program_name
from judge.cli.state import load_state, save_state
from judge.errors import SubmissionError
from judge.figures import Statistics
from judge.records import CompileMessage, Counters
from judge.statistics import Choice, NotCompiledError, NotCountedError
from tests.unit.reports.samples import wrong_report

STATISTICS = Statistics(
    submission="a.cu",
    problem="first-step",
    case="small",
    parameters={"n": 3},
    arch="sm_86",
    minimum_bytes=12,
    minimum_flops=6,
    launches=(),
    counters=Counters(flops=6),
)


def test_list_shows_problems_in_their_order_and_state(cli, problems):
    (problems / "order.txt").write_text("second-step\nfirst-step\n")
    lines = cli("list").out.splitlines()
    assert [line.split()[:2] for line in lines[1:3]] == [["second-step", "open"], ["first-step", "open"]]
    assert lines[-1] == "  Begin with: judge start PROBLEM"


def test_list_as_json(cli):
    [first, second] = json.loads(cli("list", "--format", "json").out)
    assert (first["id"], first["accepted"], second["summary"]) == ("first-step", False, "About second-step.")


def test_show_gives_statement_interface_and_cases(cli):
    out = cli("show", "first-step").out
    for part in ("# first-step", "float*", "[R, C]", "small", "twice<<<R, C>>>(x, out)"):
        assert part in out
    shown = json.loads(cli("show", "first-step", "--format", "json").out)
    assert shown["cases"][0]["parameters"] == {"R": 4, "C": 40}


def test_show_tells_nothing_twice_and_no_tex(cli, problems):
    statement = "# x\n\nFor $N \\ge 1$: `x`, `out`, `R`, `C`.\n\n```\ntwice<<<R, C>>>(x, out)\n```\n"
    (problems / "first-step" / "statement.md").write_text(statement)
    out = cli("show", "first-step").out
    assert "For N ≥ 1: `x`" in out
    assert out.count("twice<<<R, C>>>(x, out)") == 1
    assert "float*" not in out
    assert "R 4, C 40" in out


@pytest.mark.parametrize("command", ["show", "start", "hint", "solution"])
def test_unknown_problem_has_a_suggestion(cli, command):
    outcome = cli(command, "secnd-step")
    assert outcome.code == Exit.USAGE
    assert "Did you mean second-step?" in outcome.err


def test_start_writes_the_starter_with_its_header_and_never_overwrites(cli):
    outcome = cli("start", "first-step")
    assert outcome.code == Exit.ACCEPTED
    assert "judge test first-step.cu" in outcome.out
    assert Path("first-step.cu").read_text() == "// problem: first-step\n// a start\n"
    Path("first-step.cu").write_text("my work")
    refused = cli("start", "first-step")
    assert refused.code == Exit.USAGE
    assert "--force" in refused.err
    assert "first-step.cu.bak" in refused.err
    assert cli("start", "first-step", "--force").out.startswith("The old file is now first-step.cu.bak.\n")
    assert Path("first-step.cu.bak").read_text() == "my work"


@pytest.mark.parametrize("arguments", [(), ("list",), ("list", "--format", "json"), ("verify",), ("test", "a.cu")])
def test_a_folder_without_problems_is_told_as_such(cli, monkeypatch, tmp_path, arguments):
    Path("a.cu").write_text("int x;")
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("JUDGE_PROBLEMS", str(tmp_path / "empty"))
    outcome = cli(*arguments)
    assert outcome.code == Exit.USAGE
    assert outcome.err == f"Error: There are no problems in {tmp_path}/empty. Correct or unset $JUDGE_PROBLEMS.\n"


def test_start_never_writes_over_an_earlier_backup(cli):
    for number, work in enumerate(("first", "second", "third"), start=1):
        Path("a.cu").write_text(work)
        backup = f"a.cu.bak{'' if number == 1 else number}"
        assert f"kept as {backup})" in cli("start", "first-step", "--output", "a.cu").err
        assert f"The old file is now {backup}.\n" in cli("start", "first-step", "--output", "a.cu", "--force").out
    assert [Path(f"a.cu.bak{n}").read_text() for n in ("", "2", "3")] == ["first", "second", "third"]


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_start_moves_no_folder_and_no_pipe_out_of_the_way(cli, force):
    Path("mine").mkdir()
    refused = cli("start", "first-step", "--output", "mine", *force)
    assert refused.code == Exit.USAGE
    assert "mine is a folder. Name the file to write: --output mine/first-step.cu." in refused.err
    assert list(Path().iterdir()) == [Path("mine")]
    os.mkfifo("pipe")
    refused = cli("start", "first-step", "--output", "pipe", *force)
    assert refused.code == Exit.USAGE
    assert "pipe is no regular file" in refused.err


def test_start_where_nothing_can_be_written(cli):
    outcome = cli("start", "first-step", "--output", "no/such/folder/x.cu")
    assert outcome.code == Exit.USAGE
    assert "cannot be written" in outcome.err


def test_hints_come_one_by_one_and_end(cli):
    assert "Hint 1 of 2\n\nFirst hint." in cli("hint", "first-step").out
    assert "Second hint." in cli("hint", "first-step").out
    exhausted = cli("hint", "first-step")
    assert exhausted.code == Exit.NOTHING_TO_DO
    assert "solution first-step --spoil" in exhausted.err
    state = load_state()
    state.accepted["first-step"] = {}
    save_state(state)
    assert "solution first-step` shows" in cli("hint", "first-step").err
    assert "First hint." in cli("hint", "first-step", "1").out
    assert cli("hint", "first-step", "3").code == Exit.USAGE
    assert "First hint." in cli("hint", "second-step").out


def test_a_hint_out_of_its_turn_leaves_those_before_it_for_later(cli):
    assert "Hint 2 of 2" in cli("hint", "first-step", "2").out
    assert "Hint 1 of 2" in cli("hint", "first-step").out
    assert "Hint 2 of 2" in cli("hint", "first-step").out
    assert cli("hint", "first-step").code == Exit.NOTHING_TO_DO


def test_formulas_of_hints_are_text_as_those_of_statements_are(cli, problems):
    (problems / "first-step/hints/1.md").write_text(r"With $m = -\infty$ and `$HOME`.", encoding="utf-8")
    assert "With m = -∞ and `$HOME`." in cli("hint", "first-step").out


def test_solution_needs_a_pass_or_spoil(cli):
    refused = cli("solution", "first-step")
    assert refused.code == Exit.USAGE
    assert "--spoil" in refused.err
    assert "plain: Plain and simple." in cli("solution", "first-step", "--spoil").out
    assert cli("solution", "first-step", "plain", "--spoil").out == "// Plain and simple.\nint x;\n"
    assert "Did you mean plain?" in cli("solution", "first-step", "plian", "--spoil").err


def test_bare_command_names_the_next_problem_and_what_to_type(cli, pipeline):
    assert "judge start first-step" in cli().out
    cli("start", "first-step")
    assert "judge test first-step.cu" in cli().out
    cli("test", "first-step.cu")
    solved = cli().out
    assert "1 of 2 problems accepted" in solved
    assert "judge start second-step" in solved


def test_bare_command_when_everything_is_solved(cli, pipeline, tmp_path):
    state = tmp_path / "state" / "kernel-judge" / "state.json"
    state.parent.mkdir(parents=True)
    state.write_text(json.dumps({"accepted": {"first-step": {}, "second-step": {}}}))
    outcome = cli()
    assert outcome.code == Exit.NOTHING_TO_DO
    assert "All 2 problems are accepted" in outcome.out


@pytest.mark.parametrize("content", ["not json", "[]", '{"accepted": 3, "hints": {"first-step": "x"}}'])
def test_broken_state_is_no_obstacle(cli, tmp_path, content):
    state = tmp_path / "state" / "kernel-judge" / "state.json"
    state.parent.mkdir(parents=True)
    state.write_text(content)
    assert cli("hint", "first-step").code == Exit.ACCEPTED


def test_schema_describes_the_json_report(cli, pipeline):
    schema = json.loads(cli("schema").out)
    jsonschema.Draft202012Validator.check_schema(schema)
    pipeline.answer = wrong_report()
    Path("a.cu").write_text("// problem: first-step\n")
    jsonschema.Draft202012Validator(schema).validate(json.loads(cli("test", "a.cu", "--format", "json").out))


def test_new_begins_a_problem_from_the_template(cli, problems):
    template = problems / "_template"
    template.mkdir()
    (template / "problem.py").write_text('ID = "template-id"\n')
    outcome = cli("new", "prefix-sum")
    assert outcome.code == Exit.ACCEPTED
    assert "judge verify prefix-sum" in outcome.out
    assert (problems / "prefix-sum" / "problem.py").read_text() == 'ID = "prefix-sum"\n'
    assert cli("new", "prefix-sum").code == Exit.USAGE
    assert "lower case words" in cli("new", "Prefix Sum").err


def test_unknown_command_has_a_suggestion(cli):
    outcome = cli("tset")
    assert outcome.code == Exit.USAGE
    assert "'test'" in outcome.err


def test_version(cli):
    import judge

    assert cli("--version").out == f"kernel-judge {judge.__version__}\n"


@pytest.mark.parametrize(
    "command", ["list", "show", "start", "test", "stats", "hint", "solution", "doctor", "schema", "new", "verify"]
)
def test_every_command_has_help(cli, command):
    outcome = cli(command, "--help")
    assert outcome.code == Exit.ACCEPTED
    assert outcome.out.startswith(f"Usage: judge {command}")


def test_schema_describes_the_statistics_too(cli):
    schema = json.loads(cli("schema", "stats").out)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(STATISTICS.model_dump(mode="json"))


def test_stats_counts_the_chosen_case(cli, monkeypatch):
    calls = []

    def collect(problem, data, name, choice, sink):
        calls.append((problem.id, name, choice))
        return STATISTICS

    monkeypatch.setattr("judge.statistics.collect", collect)
    Path("a.cu").write_text("// problem: first-step\n", encoding="utf-8")
    outcome = cli("stats", "a.cu", "--case", "small", "--arch", "sm_86")
    assert (outcome.code, calls) == (0, [("first-step", "a.cu", Choice("small", "sm_86", 0))])
    assert outcome.out.startswith("STATS  first-step  a.cu")
    assert json.loads(cli("stats", "a.cu", "--format", "json").out)["minimum_flops"] == 6


def test_stats_of_a_kernel_that_does_not_end_is_no_fault_of_the_judge(cli, monkeypatch):
    def collect(*_):
        raise NotCountedError("Case small did not run to its end, so nothing was counted: trap.")

    monkeypatch.setattr("judge.statistics.collect", collect)
    Path("a.cu").write_text("// problem: first-step\n", encoding="utf-8")
    outcome = cli("stats", "a.cu")
    assert outcome.code == 1
    assert "nothing was counted: trap" in outcome.err


def test_the_list_of_commands_is_cut_nowhere(cli):
    assert "..." not in cli("--help").out.partition("Commands:")[2]
    assert cli("verify", "--help").out.startswith("Usage: judge verify [OPTIONS] [PROBLEM]...\n")


@pytest.mark.parametrize(("on_path", "name"), [(True, "judge"), (False, "../bin/judge")])
def test_commands_are_shown_in_the_way_that_works_here(cli, tmp_path, monkeypatch, on_path, name):
    script = tmp_path / "bin" / "judge"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent) if on_path else "/nowhere")
    monkeypatch.setattr("sys.argv", [str(script)])
    assert program_name() == name


def test_a_command_is_put_the_users_way_once(cli, monkeypatch, tmp_path):
    script = tmp_path / "judge/.venv/bin/judge"
    script.parent.mkdir(parents=True)
    script.touch()
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("sys.argv", [str(script)])
    name = program_name()
    assert name.endswith("judge/.venv/bin/judge")
    assert as_typed("`judge hint` or the judge starts; PROBLEM", "x") == f"`{name} hint` or the judge starts; x"
    assert as_typed(as_typed("judge hint")) == f"{name} hint"
    monkeypatch.setattr("judge.cli.program.program_name", lambda: name)
    assert f"`{name} hint first-step` helps" in cli("solution", "first-step").err


@pytest.mark.parametrize("messages", [True, False])
def test_stats_shows_what_the_compiler_said_with_the_line(cli, monkeypatch, messages):
    refusals = CompileMessage(line=2, column=3, message="x is undefined"), CompileMessage(line=1, message="so is y")

    def collect(*_):
        raise NotCompiledError(refusals) if messages else SubmissionError("x is undefined", 2, 3)

    monkeypatch.setattr("judge.statistics.collect", collect)
    Path("a.cu").write_text("// problem: first-step\nx = 1;\n", encoding="utf-8")
    ended = cli("stats", "a.cu")
    assert (ended.code, ended.out) == (Exit.COMPILE_ERROR, "")
    assert "nothing was counted.\n\n  a.cu:2:3: error: x is undefined\n      2 | x = 1;\n        |   ^\n" in ended.err
    assert ("a.cu:1: error: so is y" in ended.err) == messages
    told = json.loads(cli("stats", "a.cu", "--format", "json").out)
    assert told["error"]["message"] == "2:3: x is undefined"
