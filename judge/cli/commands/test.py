"""`judge test`: judge one submission and show the report."""

import shlex
import sys
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from judge.cli.completion import complete_problem
from judge.cli.output import Format, FormatOption, remark

if TYPE_CHECKING:
    from judge.records import Report


class Backend(StrEnum):
    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


class Cases(StrEnum):
    ALL = "all"
    SAMPLE = "sample"
    BENCH = "bench"


def judge_file(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A .cu file, or - for standard input.")],
    problem_id: Annotated[
        str | None,
        typer.Option(
            "--problem", help="Problem id, where file and folder do not tell.", autocompletion=complete_problem
        ),
    ] = None,
    backend: Annotated[Backend, typer.Option(help="auto: the CPU, and the GPU too where there is one.")] = Backend.AUTO,
    case: Annotated[list[str] | None, typer.Option("--case", help="Run only this case; may be repeated.")] = None,
    cases: Annotated[Cases, typer.Option(help="Which group of cases to run.")] = Cases.ALL,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**63 - 1, help="Seed of the inputs (default: drawn anew).")
    ] = None,
    schedule: Annotated[
        int | None,
        typer.Option(
            "--schedule",
            min=0,
            max=2**31 - 1,
            help="Order of blocks and warps on the CPU: 0 as numbered, 1 backwards, else shuffled by it.",
        ),
    ] = None,
    format_: FormatOption = Format.TEXT,
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast", help="Stop at the first case that is not accepted.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show every case and kernel resources.")] = False,
) -> None:
    """Judge a kernel: compile it, run the cases, compare with float64."""
    from judge.catalogue import load_problem
    from judge.cli.exits import Exit
    from judge.cli.inputs import find_problem_of, other_problem_of, read_file, shown_name
    from judge.errors import UsageError

    data = read_file(file)
    shown = shown_name(file)
    problem = load_problem(find_problem_of(file, data, problem_id))
    names = tuple(dict.fromkeys(case or ()))
    if names and cases is not Cases.ALL:
        raise UsageError("--case and --cases exclude each other. Name single cases, or one group.")

    from judge.pipeline import judge_submission
    from judge.reports.progress import progress_sink
    from judge.selection import Options
    from judge.verification.package import is_planted

    options = Options(
        backend=backend.value,
        cases=names,
        group=cases.value,
        seed=seed,
        fail_fast=fail_fast,
        schedule=schedule,
        resources=verbose,
    )
    other = other_problem_of(data, problem.id)
    if other is not None:
        remark(f"note: line {other[0]} of {shown} names {other[1]}; it is judged for {problem.id}, as --problem asks")
    report = judge_submission(problem, data, shown, options, progress_sink(sys.stderr))
    planted = is_planted(problem.folder, data)
    if planted and report.verdict.exit_code == Exit.ACCEPTED:
        hint = "This is a model solution of the judge, so it does not count as solved. Your own: judge start PROBLEM"
        report = report.model_copy(update={"hint": hint})
    if other is not None and not report.compile.ok:
        again = f"judge test {shlex.quote(shown)}"
        hint = f"Line {other[0]} names {other[1]}. Without --problem it is judged for that: {again}"
        report = report.model_copy(update={"hint": hint})
    _show(report, data, format_, verbose=verbose, brief=other is not None)
    whole = not names and cases is Cases.ALL and schedule is None
    _remember(report, whole=whole and not planted)
    nothing_ran = report.verdict.exit_code == Exit.ACCEPTED and not report.cases
    raise typer.Exit(Exit.NOTHING_TO_DO if nothing_ran else report.verdict.exit_code)


def _show(report: "Report", data: bytes, format_: Format, *, verbose: bool, brief: bool) -> None:
    from judge.cli.output import say
    from judge.cli.program import as_typed
    from judge.reports.json import render_json
    from judge.reports.style import style_for
    from judge.reports.text import render_text

    if format_ is Format.JSON:
        say(render_json(report))
        return
    source = data.decode("utf-8", errors="replace")
    typed = partial(as_typed, problem=report.problem.id)
    say(render_text(report, style_for(), source=source, verbose=verbose, brief=brief, as_typed=typed))


def _remember(report: "Report", *, whole: bool) -> None:
    from judge.cli.state import load_state, save_state
    from judge.verdict import Verdict

    if not whole or report.verdict is not Verdict.ACCEPTED or not report.cases:
        return
    state = load_state()
    state.accepted[report.problem.id] = {"sha256": report.submission.sha256, "version": report.problem.version}
    save_state(state)
