"""`judge start`: put the starter of a problem into the current folder."""

from pathlib import Path
from typing import Annotated

import typer

from judge.cli.arguments import ProblemArgument


def start(
    problem_id: ProblemArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write (default: PROBLEM.cu here).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite; the old file is kept as FILE.bak.")] = False,
) -> None:
    """Write the starter of a problem to PROBLEM.cu."""
    from judge.catalogue import problem_folder
    from judge.cli.output import say
    from judge.cli.program import program_name
    from judge.errors import UsageError

    text = (problem_folder(problem_id) / "starter.cu").read_text(encoding="utf-8")
    header = f"// problem: {problem_id}"
    if header not in text:
        text = f"{header}\n{text}"
    target = output or Path(f"{problem_id}.cu")
    kept = ""
    try:
        if target.exists():
            if not force:
                raise UsageError(
                    f"{target} exists already. Test it, or add --force to begin again (it is kept as {target}.bak)."
                )
            backup = target.with_name(target.name + ".bak")
            target.replace(backup)
            kept = f"The old file is now {backup}.\n"
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}.") from None
    name = program_name()
    say(f"{kept}Wrote {target}. Read the task: {name} show {problem_id}\nThen:  {name} test {target}")
