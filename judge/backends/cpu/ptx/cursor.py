"""A cursor over the tokens of a PTX module: what every part of the parser takes tokens with."""

import re
import struct

from judge.backends.cpu.ir import Immediate, Location
from judge.backends.cpu.ptx.errors import PtxError
from judge.backends.cpu.ptx.lexer import END, line_of_token, tokenize

_LONGEST_NUMBER = 40

_INTEGER = re.compile(r"(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0([0-7]+)|(0|[1-9]\d*))U?", re.ASCII)
_FLOAT_BITS = re.compile(r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})")
_DECIMAL_FLOAT = re.compile(r"\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+", re.ASCII)
NAME_START = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$%")


def parse_number(token: str) -> Immediate | None:
    """The constant a token spells, None when it spells none."""
    if len(token) > _LONGEST_NUMBER:
        return None
    if match := _FLOAT_BITS.fullmatch(token):
        single, double = match.groups()
        return Immediate(int(single or double, 16), 32 if single else 64)
    if match := _INTEGER.fullmatch(token):
        hexadecimal, binary, octal, decimal = match.groups()
        digits, base = next(
            (d, b) for d, b in zip((hexadecimal, binary, octal, decimal), (16, 2, 8, 10), strict=True) if d
        )
        value = int(digits, base)
        return Immediate(value) if value < 1 << 64 else None
    if _DECIMAL_FLOAT.fullmatch(token):
        return Immediate(struct.unpack("<Q", struct.pack("<d", float(token)))[0], 64)
    return None


class Cursor:
    """location: the source place in force, for the errors it makes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.at = 0
        self.location: Location | None = None
        self.numbers: dict[str, Immediate] = {"WARP_SZ": Immediate(32)}

    def fail(self, message: str, at: int | None = None) -> PtxError:
        """The error for a fault at a token; without a source line it names the line of the PTX."""
        if self.location is None:
            where = min(self.at if at is None else at, len(self.tokens) - 1)
            message = f"{message} (line {line_of_token(self.text, where)} of the PTX)"
        return PtxError(message, self.location)

    def take(self) -> str:
        token = self.tokens[self.at]
        if token is END:
            raise self.fail("the PTX ends in the middle of a statement")
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.tokens[self.at] == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise self.fail(f"malformed PTX: expected '{token}', found '{clip(self.tokens[self.at])}'")

    def name(self) -> str:
        token = self.take()
        if token[0] not in NAME_START or "." in token:
            raise self.fail(f"malformed PTX: expected a name, found '{clip(token)}'", self.at - 1)
        return token

    def integer(self) -> int:
        negative = self.accept("-")
        number = self.number(self.take())
        if number.float_bits:
            raise self.fail("malformed PTX: expected a whole number", self.at - 1)
        return -number.value if negative else number.value

    def number(self, token: str) -> Immediate:
        value = self.numbers.get(token)
        if value is None:
            value = parse_number(token)
            if value is None:
                raise self.fail(f"malformed PTX: '{clip(token)}' is not a number", self.at - 1)
            self.numbers[token] = value
        return value

    def signed_number(self) -> Immediate:
        if self.accept("-"):
            return self.negate(self.number(self.take()))
        self.accept("+")
        return self.number(self.take())

    def negate(self, number: Immediate) -> Immediate:
        if number.float_bits:
            return Immediate(number.value ^ 1 << number.float_bits - 1, number.float_bits)
        return Immediate(-number.value)

    def statement_end(self) -> int:
        """Index of the `;` that ends the statement at hand."""
        try:
            return self.tokens.index(";", self.at)
        except ValueError:
            raise self.fail("the PTX ends in the middle of a statement: a ';' is missing") from None

    def addend(self) -> int:
        total = 0
        while self.tokens[self.at] in ("+", "-"):
            sign = -1 if self.take() == "-" else 1
            total += sign * self.integer()
        return total


def clip(text: str, length: int = 60) -> str:
    return text if len(text) <= length else text[:length] + "…"
