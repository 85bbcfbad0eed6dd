"""`judge new`: a new problem folder from the template."""

from typing import Annotated

import typer


def new(
    problem_id: Annotated[str, typer.Argument(metavar="PROBLEM", help="Id: lower case words joined by hyphens.")],
) -> None:
    """Begin a new problem from problems/_template."""
    from judge.catalogue import VALID_ID, problems_folder
    from judge.cli.output import say
    from judge.cli.program import program_name
    from judge.errors import UsageError
    from judge.verification.package import copy_template

    if not VALID_ID.fullmatch(problem_id):
        raise UsageError(f"{problem_id!r} is no problem id. Use lower case words joined by hyphens, as in prefix-sum.")
    folder = problems_folder()
    target = folder / problem_id
    if target.exists():
        raise UsageError(f"{problem_id} exists already in {folder}.")
    copy_template(folder / "_template", target, problem_id)
    say(f"Wrote {target}. Fill in problem.py and statement.md, then: {program_name()} verify {problem_id}")
