"""Where a command's words go: results to stdout, everything else to stderr.

With --format json stdout carries exactly one JSON value, whatever happens.
"""

import json
import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from judge.reports.style import inert


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


FormatOption = Annotated[Format, typer.Option("--format", help="text for people, json for programs.")]


def say(text: str) -> None:
    """A result, to stdout."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()


def remark(text: str) -> None:
    """Anything that is no result, to stderr."""
    sys.stderr.write(inert(text) + "\n")
    sys.stderr.flush()


def say_json(value: Any) -> None:
    say(json.dumps(value, indent=2))
