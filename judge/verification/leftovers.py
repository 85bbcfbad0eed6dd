"""What of a new problem is still the template's: an author who runs `judge verify` hears what is left to write.

same file as in problems/_template         "starter.cu is still the template's"
the placeholder paragraph of the statement
title and summary of problem.py
no figure.svg
no line in problems/order.txt
"""

import re
from collections.abc import Iterator
from pathlib import Path

from judge.problem import Problem
from judge.verification.package import TEMPLATE_WORD

TEMPLATE_FOLDER = "_template"
ORDER_FILE = "order.txt"
FIGURE_FILE = "figure.svg"

_SUMMARY = re.compile(r'^\s*summary="(.*)",$', re.MULTILINE)


def template_leftovers(problem: Problem) -> Iterator[str]:
    """Each thing the author did not write yet, as a sentence; nothing where the problems have no template."""
    template = problem.folder.parent / TEMPLATE_FOLDER
    if template.is_dir():
        yield from _unchanged_files(problem, template)
        yield from _placeholders(problem, template)
        if not (problem.folder / FIGURE_FILE).is_file():
            yield f"{FIGURE_FILE} is missing: the page shows it above the statement"
    order = problem.folder.parent / ORDER_FILE
    if order.is_file() and problem.id not in order.read_text(encoding="utf-8").split():
        yield f"{problem.id} is not in problems/{ORDER_FILE}, which says when a learner meets it"


def _unchanged_files(problem: Problem, template: Path) -> Iterator[str]:
    for path in sorted(template.rglob("*")):
        name = path.relative_to(template)
        mine = problem.folder / name
        if "__pycache__" in name.parts or not path.is_file() or not mine.is_file():
            continue
        if mine.read_text(encoding="utf-8") == path.read_text(encoding="utf-8").replace(TEMPLATE_WORD, problem.id):
            yield f"{name.as_posix()} is still the template's"


def _placeholders(problem: Problem, template: Path) -> Iterator[str]:
    statement = problem.folder / "statement.md"
    placeholder = _opening((template / "statement.md").read_text(encoding="utf-8"))
    if placeholder and statement.is_file() and placeholder in statement.read_text(encoding="utf-8"):
        yield f"statement.md still begins with the template's words: {placeholder}"
    if problem.title == problem.id:
        yield "problem.py: the title is still the id"
    summaries = _SUMMARY.findall((template / "problem.py").read_text(encoding="utf-8"))
    if problem.summary in summaries:
        yield f"problem.py: the summary is still the template's: {problem.summary}"


def _opening(statement: str) -> str:
    """The first paragraph below the heading."""
    paragraphs = [part.strip() for part in statement.split("\n\n")]
    return next((part for part in paragraphs if part and not part.startswith("#")), "")
