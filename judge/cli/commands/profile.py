"""`judge profile`: the slowest case under ncu, brought back to source lines."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from judge.cli.commands.bench import FileArgument, ProblemOption
from judge.cli.output import Format, FormatOption

if TYPE_CHECKING:
    from judge.events import EventSink
    from judge.problem import Case, Problem


def profile(
    file: FileArgument,
    problem_id: ProblemOption = None,
    case: Annotated[str | None, typer.Option("--case", help="The case to profile (default: the slowest).")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of the inputs.")] = 0,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Run the slowest case under ncu, unboxed."""
    from judge.catalogue import load_problem
    from judge.cli.inputs import find_problem_of, read_file, shown_name
    from judge.cli.output import say, say_json
    from judge.comparing import Contestant
    from judge.profiling import profile_submission, required_tool
    from judge.reports.profiling import render_profile
    from judge.reports.progress import progress_sink
    from judge.reports.style import style_for

    data = read_file(file)
    problem = load_problem(find_problem_of(file, data, problem_id))
    # Before anything is timed: without the tool there is nothing to do.
    required_tool("ncu", "Nsight Compute")
    sink = progress_sink(sys.stderr)
    try:
        chosen = _named(problem, case) if case is not None else _slowest(problem, data, shown_name(file), seed, sink)
        report = profile_submission(problem, Contestant(data, shown_name(file)), chosen, seed, sink)
    finally:
        sink.clear()
    if format_ is Format.JSON:
        say_json(report.model_dump(mode="json"))
    else:
        say(render_profile(report, style_for()))


def _named(problem: "Problem", name: str) -> "Case":
    from judge.selection import Options, choose_cases

    return choose_cases(problem, Options(cases=(name,)))[0]


def _slowest(problem: "Problem", data: bytes, name: str, seed: int, sink: "EventSink") -> "Case":
    """The bench case with the longest median, timed now."""
    from judge.comparing import NotComparableError, bench_cases
    from judge.pipeline import judge_submission
    from judge.selection import Options

    names = tuple(one.name for one in bench_cases(problem, ()))
    report = judge_submission(problem, data, name, Options(backend="cuda", cases=names, seed=seed), sink)
    timed = [(one.timing.median_us, one.name) for one in report.cases if one.timing is not None]
    if not timed:
        raise NotComparableError(f"No case could be timed: {report.message} Name one with --case to profile it anyway.")
    return problem.case(max(timed)[1])
