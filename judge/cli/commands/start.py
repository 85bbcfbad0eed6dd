"""`judge start`: put the starter of a problem into the current folder."""

import os
import shlex
from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from judge.cli.arguments import ProblemArgument


def start(
    problem_id: ProblemArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write (default: PROBLEM.cu here).")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Begin again; the old file is kept as FILE.bak, FILE.bak2, ...")
    ] = False,
) -> None:
    """Write the starter of a problem to PROBLEM.cu."""
    from judge.catalogue import problem_folder
    from judge.cli.inputs import shown_name
    from judge.cli.output import say
    from judge.cli.program import program_name
    from judge.errors import UsageError

    text = (problem_folder(problem_id) / "starter.cu").read_text(encoding="utf-8")
    header = f"// problem: {problem_id}"
    if header not in text:
        text = f"{header}\n{text}"
    target = output or Path(f"{problem_id}.cu")
    shown = shown_name(str(target))
    kept = ""
    try:
        if target.exists():
            if target.is_dir():
                raise UsageError(f"{shown} is a folder. Name the file to write: --output {shown}/{problem_id}.cu.")
            if not target.is_file():
                raise UsageError(f"{shown} is no regular file. Name another one with --output.")
            backup = _free_backup(target)
            if not force:
                raise UsageError(
                    f"{shown} exists already. Test it, or add --force to begin again "
                    f"(it is kept as {shown_name(str(backup))})."
                )
            target.replace(backup)
            kept = f"The old file is now {shown_name(str(backup))}.\n"
        target.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{shown} cannot be written: {reason}. {kept}".strip()) from None
    name = program_name()
    typed = shlex.quote(shown)
    say(f"{kept}Wrote {shown}. Read the task: {name} show {problem_id}\nThen:  {name} test {typed}")


def _free_backup(target: Path) -> Path:
    """FILE.bak, or the first of FILE.bak2, FILE.bak3, ... that is not there, not even as a dangling link."""
    names = (target.with_name(f"{target.name}.bak{'' if number == 1 else number}") for number in count(1))
    return next(path for path in names if not os.path.lexists(path))
