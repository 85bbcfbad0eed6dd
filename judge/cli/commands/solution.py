"""`judge solution`: the model solutions of a problem, for those who solved it or ask to be spoiled."""

from typing import Annotated

import typer

from judge.cli.arguments import ProblemArgument


def solution(
    problem_id: ProblemArgument,
    name: Annotated[str | None, typer.Argument(help="Which solution to show.", show_default=False)] = None,
    spoil: Annotated[bool, typer.Option("--spoil", help="Show it though the problem is unsolved.")] = False,
) -> None:
    """List the model solutions of a problem, or show one."""
    from judge.catalogue import problem_folder, unknown_problem_message
    from judge.cli.output import say
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
    if name is None:
        program = program_name()
        listing = []
        for one in solutions.values():
            listing.append(f"  {one.name}: {one.about}".rstrip(": "))
            listing += [f"    Measured: {one.measured}"] if one.measured else []
        option = " --spoil" if spoil else ""
        steps = "each takes a step over the one before, though not every step pays in every case:"
        say("\n".join([f"Model solutions of {problem_id}; {steps}", *listing]))
        say(f"\nShow one: {program} solution {problem_id} {next(iter(solutions), 'NAME')}{option}")
        return
    chosen = name.removesuffix(".cu")
    if chosen not in solutions:
        message = unknown_problem_message(chosen, solutions).replace("No problem", "No solution")
        raise UsageError(message.replace("Known problems", "Known solutions"))
    say(solutions[chosen].source)
