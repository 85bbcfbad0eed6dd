"""`judge sanitize`: the failing case under compute-sanitizer, brought back to source lines."""

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from judge.cli.commands.bench import FileArgument, ProblemOption
from judge.cli.output import Format, FormatOption

if TYPE_CHECKING:
    from judge.events import EventSink
    from judge.problem import Case, Problem


class Tool(StrEnum):
    MEMCHECK = "memcheck"
    RACECHECK = "racecheck"
    INITCHECK = "initcheck"
    SYNCCHECK = "synccheck"


def sanitize(
    file: FileArgument,
    problem_id: ProblemOption = None,
    case: Annotated[
        str | None, typer.Option("--case", help="The case to run (default: the first that fails on the GPU).")
    ] = None,
    tool: Annotated[Tool, typer.Option(help="Which of its tools.")] = Tool.MEMCHECK,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of the inputs.")] = 0,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Run the failing case under compute-sanitizer, unboxed."""
    from judge.catalogue import load_problem
    from judge.cli.exits import Exit
    from judge.cli.inputs import find_problem_of, read_file, shown_name
    from judge.cli.output import say, say_json
    from judge.comparing import Contestant
    from judge.profiling import required_tool, sanitize_submission
    from judge.reports.profiling import render_findings
    from judge.reports.progress import progress_sink
    from judge.reports.style import style_for
    from judge.selection import Options, choose_cases

    data = read_file(file)
    problem = load_problem(find_problem_of(file, data, problem_id))
    required_tool("compute-sanitizer", "cuda-sanitizer-api")
    sink = progress_sink(sys.stderr)
    try:
        if case is not None:
            chosen = choose_cases(problem, Options(cases=(case,)))[0]
        else:
            chosen = _failing(problem, data, shown_name(file), seed, sink)
        report = sanitize_submission(problem, Contestant(data, shown_name(file)), chosen, seed, tool.value, sink)
    finally:
        sink.clear()
    if format_ is Format.JSON:
        say_json(report.model_dump(mode="json"))
    else:
        say(render_findings(report, style_for()))
    raise typer.Exit(Exit.NOT_ACCEPTED if report.findings else Exit.ACCEPTED)


def _failing(problem: "Problem", data: bytes, name: str, seed: int, sink: "EventSink") -> "Case":
    """The first case that fails on the GPU, else the largest sample."""
    from judge.pipeline import judge_submission
    from judge.problem import Group
    from judge.selection import Options
    from judge.statistics import choose_case
    from judge.verdict import Verdict

    names = tuple(one.name for one in problem.cases if one.group is not Group.BENCH)
    options = Options(backend="cuda", cases=names, seed=seed, fail_fast=True)
    report = judge_submission(problem, data, name, options, sink)
    failed = [one.name for one in report.cases if one.verdict is not Verdict.ACCEPTED]
    return problem.case(failed[0]) if failed else choose_case(problem, None)
