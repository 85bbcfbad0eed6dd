"""`judge compare`: is one kernel faster than another."""

import sys
from typing import Annotated

import typer

from judge.cli.completion import complete_problem
from judge.cli.output import Format, FormatOption


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A .cu file.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The .cu file that is held against it.")],
    problem_id: Annotated[
        str | None,
        typer.Option(
            "--problem", help="Problem id, where file and folder do not tell.", autocompletion=complete_problem
        ),
    ] = None,
    case: Annotated[list[str] | None, typer.Option("--case", help="Only this bench case; may be repeated.")] = None,
    budget: Annotated[float, typer.Option(min=0.2, max=60.0, help="Seconds of pairs for each case.")] = 4.0,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of the inputs.")] = 0,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Time two kernels in turns on a GPU: is B faster than A?"""
    from judge.catalogue import load_problem
    from judge.cli.inputs import find_problem_of, read_file, shown_name
    from judge.errors import UsageError

    if a == b == "-":
        raise UsageError("Standard input holds one file. Give the other one by name.")
    first, second = read_file(a), read_file(b)
    problem = load_problem(find_problem_of(a, first, problem_id))
    other = find_problem_of(b, second, problem_id)
    if other != problem.id:
        raise UsageError(f"{shown_name(a)} is for {problem.id}, {shown_name(b)} for {other}: --problem ID decides.")

    from judge.cli.output import say, say_json
    from judge.comparing import Contestant, compare_submissions
    from judge.reports.comparison import render_comparison
    from judge.reports.progress import progress_sink
    from judge.reports.style import style_for

    sink = progress_sink(sys.stderr)
    try:
        report = compare_submissions(
            problem,
            Contestant(first, shown_name(a)),
            Contestant(second, shown_name(b)),
            tuple(dict.fromkeys(case or ())),
            sink,
            seed=seed,
            budget_s=budget,
        )
    finally:
        sink.clear()
    if format_ is Format.JSON:
        say_json(report.model_dump(mode="json"))
    else:
        say(render_comparison(report, style_for()))
