"""`judge solution`: the model solutions of a problem, for those who solved it or ask to be spoiled."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from judge.cli.arguments import ProblemArgument
from judge.cli.output import Format, FormatOption, say, say_json

if TYPE_CHECKING:
    from judge.verification.solutions import Solution


def solution(
    problem_id: ProblemArgument,
    name: Annotated[str | None, typer.Argument(help="Which solution to show.", show_default=False)] = None,
    spoil: Annotated[bool, typer.Option("--spoil", help="Show it though the problem is unsolved.")] = False,
    format_: FormatOption = Format.TEXT,
) -> None:
    """List the model solutions of a problem, or show one."""
    from judge.catalogue import problem_folder
    from judge.cli.program import program_name
    from judge.cli.state import load_state
    from judge.errors import UsageError
    from judge.verification.solutions import model_solutions

    folder = problem_folder(problem_id)
    if not spoil and problem_id not in load_state().accepted:
        raise UsageError(
            f"{problem_id} is not solved yet. `judge hint {problem_id}` helps; --spoil shows the solutions."
        )
    solutions = {one.name: one for one in model_solutions(folder)}
    chosen = None if name is None else _named(name, solutions)
    if format_ is Format.JSON:
        say_json([_as_json(one) for one in solutions.values()] if chosen is None else _as_json(chosen))
    elif chosen is not None:
        say(chosen.source)
    else:
        steps = "each takes a step over the one before, though not every step pays in every case:"
        say("\n".join([f"Model solutions of {problem_id}; {steps}", *_listing(solutions)]))
        option = " --spoil" if spoil else ""
        say(f"\nShow one: {program_name()} solution {problem_id} {next(iter(solutions), 'NAME')}{option}")


def _named(name: str, solutions: "Mapping[str, Solution]") -> "Solution":
    from judge.catalogue import unknown_problem_message
    from judge.errors import UsageError

    chosen = name.removesuffix(".cu")
    if chosen not in solutions:
        message = unknown_problem_message(chosen, solutions).replace("No problem", "No solution")
        raise UsageError(message.replace("Known problems", "Known solutions"))
    return solutions[chosen]


def _listing(solutions: "Mapping[str, Solution]") -> list[str]:
    listing = []
    for one in solutions.values():
        listing.append(f"  {one.name}: {one.about}".rstrip(": "))
        listing += [f"    Measured: {one.measured}"] if one.measured else []
    return listing


def _as_json(one: "Solution") -> dict[str, object]:
    return {"name": one.name, "about": one.about, "measured": one.measured, "source": one.source}
