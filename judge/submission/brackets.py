"""Finds brackets and commas in one line of C++, blind to what stands in literals and comments.

Template brackets are told from comparisons the way a reader does it: `<` right after a name, closed
by a `>` that is followed by `(`, `{`, `::` or nothing that could continue a comparison.
"""

import re

_LITERAL = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])'|/\*.*?\*/")
_CLOSER = {"(": ")", "[": "]", "{": "}"}
_OPENER = {closer: opener for opener, closer in _CLOSER.items()}


class Unbalanced(Exception):  # noqa: N818 - a finding, turned into an error by the reader of the line
    """message says which bracket; at is its 0-based place in the text."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


def without_literals(text: str) -> str:
    """The text with string and character literals and block comments blanked, places unchanged."""
    return _LITERAL.sub(lambda match: " " * len(match.group()), text)


def closing(masked: str, at: int) -> int:
    """The place of the bracket that closes the one at `at`.

    Raises Unbalanced when there is none, or one of another kind stands in the way.
    """
    stack: list[int] = []
    for i in range(at, len(masked)):
        c = masked[i]
        if c in _CLOSER:
            stack.append(i)
        elif c in _OPENER:
            opener = masked[stack[-1]]
            if _CLOSER[opener] != c:
                raise Unbalanced(f"{c!r} does not close {opener!r}", i)
            stack.pop()
            if not stack:
                return i
    innermost = stack[-1]
    raise Unbalanced(f"{masked[innermost]!r} is never closed", innermost)


def top_level(masked: str, start: int, end: int) -> list[tuple[int, int]]:
    """Split masked[start:end] at its top-level commas; half-open ranges, blanks included.

    Raises Unbalanced.
    """
    pieces = []
    begin = i = start
    while i < end:
        c = masked[i]
        if c in _CLOSER:
            i = closing(masked[:end], i)
        elif c in _OPENER:
            raise Unbalanced(f"{c!r} closes nothing", i)
        elif c == "<" and i > start and (masked[i - 1].isalnum() or masked[i - 1] == "_"):
            i = _template_end(masked, i, end) or i
        elif c == ",":
            pieces.append((begin, i))
            begin = i + 1
        i += 1
    pieces.append((begin, end))
    return pieces


def _template_end(masked: str, at: int, end: int) -> int | None:
    """The place of the `>` that ends the template arguments opened at `at`, None for a comparison."""
    depth = 0
    i = at
    while i < end:
        c = masked[i]
        if c in _CLOSER:
            i = closing(masked[:end], i)
        elif c in _OPENER or masked.startswith(("&&", "||"), i):
            return None
        elif c == "<":
            depth += 1
        elif c == ">" and masked[i - 1] != "-":
            depth -= 1
            if depth == 0:
                rest = masked[i + 1 : end].lstrip()
                continues = rest.startswith(("(", "{", "::", ",", "+", "*", "/", "%")) or not rest
                return i if continues else None
        i += 1
    return None


def trimmed(masked_or_text: str, start: int, end: int) -> tuple[int, int]:
    """The range without blanks at its ends."""
    while start < end and masked_or_text[start].isspace():
        start += 1
    while end > start and masked_or_text[end - 1].isspace():
        end -= 1
    return start, end
