"""`judge roofline`: a kernel's times as a picture."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judge.cli.commands.bench import CaseOption, FileArgument, ProblemOption, SeedOption, timed_report
from judge.cli.output import Format, FormatOption

if TYPE_CHECKING:
    from judge.problem import Problem
    from judge.records import Report


def roofline(
    file: FileArgument,
    problem_id: ProblemOption = None,
    case: CaseOption = None,
    seed: SeedOption = None,
    svg: Annotated[Path | None, typer.Option("--svg", help="Write the picture as SVG to this file.")] = None,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Draw a kernel's times under the roofline of a GPU."""
    from judge.cli.output import remark, say, say_json
    from judge.errors import NothingToDoError, UsageError
    from judge.reports.bench import render_bench
    from judge.reports.roofline import Picture, draw_svg, draw_text, picture_of
    from judge.reports.style import style_for

    problem: Problem | None = None
    if file.endswith(".json"):
        report = _read_report(file)
    else:
        problem, report = timed_report(file, problem_id, case, seed)
    picture: Picture | None = picture_of(report)
    if picture is None:
        if report.verdict.exit_code and problem is not None:
            say(render_bench(report, problem, style_for()))
            raise typer.Exit(report.verdict.exit_code)
        raise NothingToDoError("No case of this report has a time on a GPU, so there is nothing to draw.")
    if svg is not None:
        try:
            svg.write_text(draw_svg(picture), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{svg} cannot be written: {error.strerror}.") from None
        remark(f"Wrote {svg}")
    if format_ is Format.JSON:
        say_json(picture.as_json())
    else:
        say(draw_text(picture, style_for()))
    raise typer.Exit(report.verdict.exit_code)


def _read_report(file: str) -> "Report":
    from pydantic import ValidationError

    from judge.cli.inputs import read_file, shown_name
    from judge.errors import UsageError
    from judge.records import Report

    try:
        return Report.model_validate_json(read_file(file))
    except ValidationError:
        raise UsageError(f"{shown_name(file)} is no JSON report of `judge bench` or `judge test`.") from None
