"""`judge stats`: what the launches of one case did, and where in the source."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from judge.cli.completion import complete_problem
from judge.cli.output import Format, FormatOption

if TYPE_CHECKING:
    from judge.errors import SubmissionError


def stats(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A .cu file, or - for standard input.")],
    problem_id: Annotated[
        str | None,
        typer.Option(
            "--problem", help="Problem id, where file and folder do not tell.", autocompletion=complete_problem
        ),
    ] = None,
    case: Annotated[str | None, typer.Option("--case", help="The case to count (default: the largest sample).")] = None,
    arch: Annotated[str, typer.Option("--arch", help="Architecture of the occupancy; needs no GPU.")] = "sm_90",
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of a hidden case's inputs.")] = 0,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Count what a kernel does, and show the lines that waste most."""
    from judge.catalogue import load_problem
    from judge.cli.inputs import find_problem_of, read_file, shown_name

    data = read_file(file)
    problem = load_problem(find_problem_of(file, data, problem_id))

    from judge.cli.exits import Exit
    from judge.cli.output import say, say_json
    from judge.errors import SubmissionError
    from judge.reports.progress import progress_sink
    from judge.reports.statistics import render_statistics
    from judge.reports.style import style_for
    from judge.statistics import Choice, collect

    sink = progress_sink(sys.stderr)
    try:
        statistics = collect(problem, data, shown_name(file), Choice(case, arch, seed), sink)
    except SubmissionError as error:
        if format_ is Format.JSON:
            raise
        sink.clear()
        _tell_refused(error, data, shown_name(file))
        raise typer.Exit(Exit.COMPILE_ERROR) from error
    finally:
        sink.clear()
    if format_ is Format.JSON:
        say_json(statistics.model_dump(mode="json"))
    else:
        say(render_statistics(statistics, style_for()))


def _tell_refused(error: "SubmissionError", data: bytes, name: str) -> None:
    """The messages with their lines, as `judge test` shows them."""
    from judge.cli.output import remark
    from judge.cli.program import as_typed
    from judge.records import CompileMessage
    from judge.reports.style import style_for
    from judge.reports.text import render_compile_messages
    from judge.statistics import NotCompiledError

    if isinstance(error, NotCompiledError):
        messages = error.messages
    else:
        messages = (CompileMessage(line=error.line, column=error.column, message=as_typed(str(error))),)
    source = data.decode("utf-8", errors="replace")
    remark("Error: the file does not compile, so nothing was counted.\n")
    remark(render_compile_messages(messages, name, source, style_for(sys.stderr)).rstrip("\n"))
