"""`judge schema`: the JSON Schema of what a command prints with --format json."""

from enum import StrEnum
from typing import Annotated

import typer


class Of(StrEnum):
    TEST = "test"
    STATS = "stats"


def schema(of: Annotated[Of, typer.Argument(metavar="[test|stats]", help="Whose JSON.")] = Of.TEST) -> None:
    """Print the JSON Schema of a report, or of statistics."""
    from judge.cli.output import say_json
    from judge.figures import statistics_schema
    from judge.records import report_schema

    say_json(statistics_schema() if of is Of.STATS else report_schema())
