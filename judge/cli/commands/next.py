"""`judge` alone: the next unsolved problem and exactly what to type for it."""

from pathlib import Path

import typer


def show_next() -> None:
    from judge.catalogue import load_problem
    from judge.cli.exits import Exit
    from judge.cli.inputs import known_problems
    from judge.cli.output import say
    from judge.cli.program import program_name
    from judge.cli.state import load_state

    known = known_problems()
    accepted = load_state().accepted
    unsolved = [problem_id for problem_id in known if problem_id not in accepted]
    name = program_name()
    if not unsolved:
        say(f"All {len(known)} problems are accepted. Compare with the model solutions: {name} solution PROBLEM")
        raise typer.Exit(Exit.NOTHING_TO_DO)
    problem = load_problem(unsolved[0])
    source = Path(f"{problem.id}.cu")
    command = f"test {source}" if source.is_file() else f"start {problem.id}"
    say(
        f"{len(known) - len(unsolved)} of {len(known)} problems accepted. Next: {problem.id}\n"
        f"  {problem.summary}\n\n  {name} {command}\n\nAll commands: {name} --help"
    )
