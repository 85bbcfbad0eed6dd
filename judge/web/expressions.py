"""The value of a C++ expression of whole numbers, as launch lines use them: for a preview, never for a verdict.

It knows numbers, names, arithmetic, comparisons, ?:, parentheses, cdiv, min, max, sizeof and int casts. The compiler
decides what a launch is; where this one does not know something it says so instead of guessing.
"""

import re
from collections.abc import Callable, Mapping

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|\d+)[uUlL]*(?![\w.])|(?P<name>[A-Za-z_]\w*(?:::\w+)*)"
    r"|(?P<sign><<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>?:(),]))"
)
_LEVELS: dict[str, int] = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
_SIZES = {"float": 4, "int": 4, "unsigned": 4, "double": 8, "half": 2, "__half": 2, "char": 1, "float4": 16}
_CASTS = {"int", "unsigned", "size_t", "long", "uint32_t", "int64_t"}
_LARGEST = 1 << 63
_MAX_TOKENS = 400
_MAX_SHIFT = 62


class Unknown(Exception):  # noqa: N818 - the answer "that cannot be said here"
    """The value cannot be told without compiling; the text says why."""


def evaluate(text: str, names: Mapping[str, int]) -> int:
    """The value. names: what stands for a number. Raises Unknown."""
    return _Reader(text, names).whole()


class _Reader:
    def __init__(self, text: str, names: Mapping[str, int]) -> None:
        self._tokens = _tokens(text)
        self._names = names
        self._at = 0

    def whole(self) -> int:
        value = self._choice()
        if self._at < len(self._tokens):
            raise Unknown(f"'{self._tokens[self._at][1]}' is more than this preview understands")
        return value

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _take(self, wanted: str = "") -> tuple[str, str]:
        if self._at >= len(self._tokens) or (wanted and self._peek() != wanted):
            raise Unknown(f"'{wanted or 'a value'}' is missing")
        self._at += 1
        return self._tokens[self._at - 1]

    def _choice(self) -> int:
        value = self._binary(1)
        if self._peek() != "?":
            return value
        self._take("?")
        yes = self._choice()
        self._take(":")
        no = self._choice()
        return yes if value else no

    def _binary(self, level: int) -> int:
        value = self._unary()
        while (here := _LEVELS.get(self._peek(), 0)) >= level:
            sign = self._take()[1]
            value = _apply(sign, value, self._binary(here + 1))
        return value

    def _unary(self) -> int:
        kind, text = self._take()
        if kind == "number":
            return _number(text)
        if text in "+-!~" and kind == "sign":
            value = self._unary()
            return {"+": value, "-": -value, "!": int(not value), "~": ~value}[text]
        if text == "(":
            return self._parenthesis()
        if kind == "name":
            return self._named(text)
        raise Unknown(f"'{text}' is more than this preview understands")

    def _parenthesis(self) -> int:
        if self._peek() in _CASTS and self._tokens[self._at + 1 : self._at + 2] == [("sign", ")")]:
            self._at += 2
            return self._unary()
        value = self._choice()
        self._take(")")
        return value

    def _named(self, name: str) -> int:
        if name == "sizeof":
            self._take("(")
            of = self._take()[1]
            self._take(")")
            if of not in _SIZES:
                raise Unknown(f"sizeof({of}) is known to the compiler only")
            return _SIZES[of]
        if name == "static_cast" and self._peek() == "<":
            self._take()
            kind = self._take()[1]
            self._take(">")
            if kind not in _CASTS:
                raise Unknown(f"a cast to {kind} is more than this preview understands")
            return self._unary()
        if self._peek() == "(":
            return self._called(name)
        if name in {"true", "false"}:
            return int(name == "true")
        if name in self._names:
            return self._names[name]
        raise Unknown(f"{name} is known to the compiler only")

    def _called(self, name: str) -> int:
        self._take("(")
        values = [self._choice()]
        while self._peek() == ",":
            self._take()
            values.append(self._choice())
        self._take(")")
        short = name.removeprefix("std::")
        if short in _CASTS and len(values) == 1:
            return values[0]
        if short not in {"min", "max", "cdiv"} or len(values) != 2:
            raise Unknown(f"{name}() is known to the compiler only")
        if short == "cdiv":
            return _divide(values[0] + values[1] - 1, values[1])
        return min(values) if short == "min" else max(values)


def _number(text: str) -> int:
    """Hexadecimal, octal or decimal, as the prefix says."""
    octal = len(text) > 1 and text.isdecimal() and text[0] == "0"
    try:
        return int(text, 8 if octal else 0)
    except ValueError:
        raise Unknown(f"{text} is no number") from None


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    text = text.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise Unknown(f"'{text[at : at + 12]}' is more than this preview understands")
        kind = str(match.lastgroup)
        found.append((kind, match[kind]))
        if len(found) > _MAX_TOKENS:
            raise Unknown("the expression is too long for a preview")
        at = match.end()
    return found


def _divide(a: int, b: int) -> int:
    """As C++ does, toward zero. Raises Unknown for a divisor of 0."""
    if b == 0:
        raise Unknown("it divides by 0")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _apply(sign: str, a: int, b: int) -> int:
    if sign in {"<<", ">>"} and not 0 <= b <= _MAX_SHIFT:
        raise Unknown("it shifts by more bits than there are")
    operations: dict[str, Callable[[], int]] = {
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "/": lambda: _divide(a, b),
        "%": lambda: a - _divide(a, b) * b,
        "<<": lambda: a << b,
        ">>": lambda: a >> b,
        "&": lambda: a & b,
        "|": lambda: a | b,
        "^": lambda: a ^ b,
        "&&": lambda: int(bool(a and b)),
        "||": lambda: int(bool(a or b)),
        "==": lambda: int(a == b),
        "!=": lambda: int(a != b),
        "<": lambda: int(a < b),
        ">": lambda: int(a > b),
        "<=": lambda: int(a <= b),
        ">=": lambda: int(a >= b),
    }
    value = operations[sign]()
    if abs(value) >= _LARGEST:
        raise Unknown("a number is too large")
    return value
