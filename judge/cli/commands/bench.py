"""`judge bench`: the times of a kernel on a GPU, and what they are worth."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from judge.cli.completion import complete_problem
from judge.cli.output import Format, FormatOption

if TYPE_CHECKING:
    from judge.problem import Problem
    from judge.records import Report

FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="A .cu file, or - for standard input.")]
ProblemOption = Annotated[
    str | None,
    typer.Option("--problem", help="Problem id, where file and folder do not tell.", autocompletion=complete_problem),
]
CaseOption = Annotated[list[str] | None, typer.Option("--case", help="Only this bench case; may be repeated.")]
SeedOption = Annotated[int | None, typer.Option(min=0, max=2**63 - 1, help="Seed of the inputs (default: drawn anew).")]


def bench(
    file: FileArgument,
    problem_id: ProblemOption = None,
    case: CaseOption = None,
    seed: SeedOption = None,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Time a kernel on a GPU: medians, share of the roofline, tiers."""
    from judge.cli.output import say
    from judge.reports.bench import render_bench
    from judge.reports.json import render_json
    from judge.reports.style import style_for

    problem, report = timed_report(file, problem_id, case, seed)
    if format_ is Format.JSON:
        say(render_json(report))
    else:
        say(render_bench(report, problem, style_for()))
    raise typer.Exit(report.verdict.exit_code)


def timed_report(
    file: str, problem_id: str | None, case: list[str] | None, seed: int | None
) -> "tuple[Problem, Report]":
    """The problem of a file and the report of its bench cases. Raises as judge_submission, UsageError for a case."""
    from judge.catalogue import load_problem
    from judge.cli.inputs import find_problem_of, read_file, shown_name
    from judge.comparing import bench_cases, require_gpu
    from judge.pipeline import judge_submission
    from judge.reports.progress import progress_sink
    from judge.selection import Options

    data = read_file(file)
    problem = load_problem(find_problem_of(file, data, problem_id))
    require_gpu()
    names = tuple(chosen.name for chosen in bench_cases(problem, tuple(case or ())))
    options = Options(backend="cuda", cases=names, seed=seed)
    return problem, judge_submission(problem, data, shown_name(file), options, progress_sink(sys.stderr))
