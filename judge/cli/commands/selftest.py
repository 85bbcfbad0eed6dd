"""`judge selftest`: the catalogue of hostile submissions against this machine's own judge."""

import sys
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from judge.cli.commands.test import Backend
from judge.cli.output import Format, FormatOption

if TYPE_CHECKING:
    from judge.redteam.rows import Backend as RowBackend
    from judge.redteam.trial import Outcome
    from judge.reports.style import Style


def selftest(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[ROW]...", help="Only rows with this in their name (default: all).")
    ] = None,
    backend: Annotated[Backend, typer.Option(help="Where they are judged: cpu or cuda.")] = Backend.CPU,
    quick: Annotated[bool, typer.Option("--quick", help="Only the first spelling of each row.")] = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, max=64, help="Rows at the same time.")] = 2,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Try hostile submissions on this machine."""
    from judge.cli.exits import Exit
    from judge.cli.output import remark, say, say_json
    from judge.errors import UsageError
    from judge.redteam.rows import catalogue
    from judge.redteam.selftest import run_rows
    from judge.reports.style import style_for
    from judge.sandbox.tier import isolation

    if backend is Backend.AUTO:
        raise UsageError("The selftest is of one backend: --backend cpu or --backend cuda.")
    where: RowBackend = "cuda" if backend is Backend.CUDA else "cpu"
    rows = [
        row
        for row in catalogue()
        if (row.first or not quick)
        and (where == "cpu" or row.cuda)
        and (not names or any(name in row.id for name in names))
    ]
    if not rows:
        remark("No row of the catalogue has that in its name.")
        raise typer.Exit(Exit.NOTHING_TO_DO)
    stream = sys.stderr if format_ is Format.JSON else sys.stdout
    style = style_for(stream)
    outcomes = run_rows(rows, where, jobs, lambda outcome: _tell(outcome, where, stream, style))
    tier = isolation()
    broken = [outcome for outcome in outcomes if not outcome.ok and not outcome.row.known]
    if format_ is Format.JSON:
        say_json(
            {
                "schema_version": 1,
                "ok": not broken,
                "backend": where,
                "isolation": {"tier": str(tier.tier), "failures": list(tier.failures)},
                "rows": [_as_json(outcome, where) for outcome in outcomes],
            }
        )
    else:
        say(_summary(outcomes, len(broken), f"isolation {tier.tier}", list(tier.failures)))
    raise typer.Exit(Exit.NOT_ACCEPTED if broken else Exit.ACCEPTED)


def _state(outcome: "Outcome") -> str:
    if outcome.ok:
        return "ok"
    return "known" if outcome.row.known else "FAIL"


def _tell(outcome: "Outcome", backend: "RowBackend", stream: TextIO, style: "Style") -> None:
    from judge.reports.style import one_line

    state = _state(outcome)
    color = {"ok": ("green",), "known": ("yellow",), "FAIL": ("bold", "red")}[state]
    lines = [
        f"{style.paint(f'{state:<5}', *color)}  {outcome.seconds:5.1f} s  {outcome.row.id:<34}  {outcome.row.tries}",
        f"{'':16}got {outcome.verdict}, right: {', '.join(outcome.row.right_on(backend))}",
    ]
    lines += [f"{'':16}{one_line(fault)}" for fault in outcome.faults]
    lines += [f"{'':16}known: {outcome.row.known}"] if state == "known" else []
    stream.write("\n".join(lines) + "\n")
    stream.flush()


def _summary(outcomes: "list[Outcome]", broken: int, tier: str, why: list[str]) -> str:
    from judge.verification.numbers import count_of

    lines = []
    seconds = sum(outcome.seconds for outcome in outcomes)
    known = sum(not outcome.ok for outcome in outcomes) - broken
    promises = f"{count_of(broken, 'promise')} broken, {known} known"
    lines.append(f"{count_of(len(outcomes), 'submission')}, {promises}; {seconds:.0f} s of judging")
    lines.append(f"{tier}: {'; '.join(why)}" if why else tier)
    return "\n".join(lines)


def _as_json(outcome: "Outcome", backend: "RowBackend") -> dict[str, object]:
    return {
        "row": outcome.row.id,
        "tries": outcome.row.tries,
        "expected": [str(verdict) for verdict in outcome.row.right_on(backend)],
        "got": str(outcome.verdict),
        "seconds": round(outcome.seconds, 3),
        "ok": outcome.ok,
        "known": outcome.row.known,
        "faults": list(outcome.faults),
    }
