"""`judge hint`: the hints of a problem, one more each time."""

from typing import Annotated

import typer

from judge.cli.arguments import ProblemArgument


def hint(
    problem_id: ProblemArgument,
    number: Annotated[int | None, typer.Argument(min=1, help="Show this hint again.", show_default=False)] = None,
) -> None:
    """Show the next hint of a problem."""
    from judge.catalogue import problem_folder
    from judge.cli.exits import Exit
    from judge.cli.output import remark, say
    from judge.cli.program import program_name
    from judge.cli.state import load_state, save_state
    from judge.errors import UsageError
    from judge.reports.mathtext import plain_statement
    from judge.verification.numbers import count_of
    from judge.verification.package import hint_files

    files = hint_files(problem_folder(problem_id))
    state = load_state()
    shown = min(state.hints.get(problem_id, 0), len(files))
    if number is not None and number > len(files):
        raise UsageError(f"{problem_id} has {count_of(len(files), 'hint')}, so there is no hint {number}.")
    wanted = number if number is not None else shown + 1
    if wanted > len(files):
        told = "The only hint was" if len(files) == 1 else f"All {len(files)} hints of {problem_id} were"
        option = "" if problem_id in state.accepted else " --spoil"
        remark(
            f"{told} shown. `{program_name()} hint {problem_id} 1` shows the first again; "
            f"`{program_name()} solution {problem_id}{option}` shows a solution."
        )
        raise typer.Exit(Exit.NOTHING_TO_DO)
    text = files[wanted - 1].read_text(encoding="utf-8")
    say(f"Hint {wanted} of {len(files)}\n\n{plain_statement(text.strip())}")
    # One that was asked for out of its turn leaves those before it for later.
    if wanted == shown + 1:
        state.hints[problem_id] = wanted
        save_state(state)
