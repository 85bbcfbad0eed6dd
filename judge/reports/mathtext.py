r"""A statement for the terminal: its formulas in Unicode instead of TeX, everything else as it stands.

    $s_t = \mathrm{scale} \cdot q_{n,h} \cdot k_t$   ->   s_t = scale · q_(n,h) · k_t

It knows what statements use, not TeX: an unknown command is shown by its name.
"""

import re
from collections.abc import Iterator

_MATH = re.compile(r"```.*?```|`[^`]*`|\$\$(?P<block>.+?)\$\$|\$(?P<inline>[^$]+?)\$", re.DOTALL)
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[{}^_&]|\s+|.", re.DOTALL)
_SYMBOLS = {
    "times": "×",
    "cdot": "·",
    "ge": "≥",
    "le": "≤",
    "in": "∈",
    "infty": "∞",
    "ell": "l",
    "ldots": "...",
    "lfloor": "⌊",
    "rfloor": "⌋",
    "sum": "Σ",
    "top": "T",
    "bmod": "mod",
    "qquad": "   ",
    "left": "",
    "right": "",
    ",": " ",
    " ": " ",
    "\\": "",
}
_NAMED = ("mathrm", "text")
_SIMPLE = re.compile(r"[\w.∞]*")


def plain_statement(markdown: str) -> str:
    """Markdown with every formula outside of code turned into plain text."""
    return _MATH.sub(_replaced, markdown)


def _replaced(match: re.Match[str]) -> str:
    if match["block"] is not None:
        lines = plain_math(match["block"]).strip().splitlines()
        return "\n".join(f"    {re.sub(r' {4,}', '   ', line).strip()}" for line in lines if line.strip())
    return plain_math(match["inline"]) if match["inline"] is not None else match[0]


def plain_math(tex: str) -> str:
    """One formula as text."""
    return _sequence(iter(_TOKEN.findall(tex)))


def _sequence(tokens: Iterator[str]) -> str:
    """Everything up to the brace that closes the group, or to the end."""
    text = ""
    for token in tokens:
        if token == "}":
            break
        text += _piece(token, tokens)
    return text


def _piece(token: str, tokens: Iterator[str]) -> str:
    if token == "{":
        return _sequence(tokens)
    if token in "^_":
        return token + _grouped(_argument(tokens))
    if token == "&":
        return ""
    if not token.startswith("\\"):
        return token
    name = token[1:]
    if name == "frac":
        above, below = _argument(tokens), _argument(tokens)
        return f"{_grouped(above)} / {_grouped(below)}"
    if name == "sqrt":
        return "√" + _grouped(_argument(tokens))
    if name in ("begin", "end"):
        _argument(tokens)
        return ""
    if name in _NAMED:
        return _argument(tokens)
    return _SYMBOLS.get(name, name)


def _argument(tokens: Iterator[str]) -> str:
    for token in tokens:
        if not token.isspace():
            return _piece(token, tokens)
    return ""


def _grouped(text: str) -> str:
    """In parentheses, unless it is one word or number."""
    return text if _SIMPLE.fullmatch(text) else f"({text})"
