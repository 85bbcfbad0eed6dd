"""Finds the comments of a C++ source, wherever they stand, and blanks comments and literals.

A lexer, not a parser: it must give the right answer on a source that does not parse. What nothing closes goes on to the
end of the line, a raw string or a block comment to the end of the file: each character is looked at once, so that no
source takes longer than its length allows.
"""

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
      //(?:\\\r?\n|[^\n])*                                     # line comment, continued by a backslash
    | /\*.*?(?:\*/|\Z)                                         # block comment
    | (?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?(?:\)(?P=delimiter)"|\Z)
    | "(?:\\.|[^"\\\n])*(?:"|\\?(?=\n)|\\?\Z)
    | \b\d[\w.']*                                              # a number, whose ' opens no literal
    | '(?:\\.|[^'\\\n])+(?:'|\\?(?=\n)|\\?\Z)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Comment:
    """text: with its `//` or `/* */`; line and column: 1-based place of its first character."""

    text: str
    line: int
    column: int


def comments_of(source: str) -> tuple[Comment, ...]:
    found = []
    line, line_start, seen = 1, 0, 0
    for match in _TOKEN.finditer(source):
        text = match.group()
        if not text.startswith(("//", "/*")):
            continue
        at = match.start()
        line += source.count("\n", seen, at)
        seen = at
        line_start = source.rfind("\n", 0, at) + 1
        found.append(Comment(text.rstrip("\r\n"), line, at - line_start + 1))
    return tuple(found)


def code_only(source: str) -> str:
    """The source with comments and literals blanked; every other character keeps its line and column."""
    return _TOKEN.sub(lambda match: match.group() if match.group()[0].isdigit() else _blank(match.group()), source)


def _blank(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)
