"""Arguments that several commands share."""

from typing import Annotated

import typer

from judge.cli.completion import complete_problem

ProblemArgument = Annotated[
    str, typer.Argument(metavar="PROBLEM", help="Problem id.", autocompletion=complete_problem, show_default=False)
]
