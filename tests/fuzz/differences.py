"""Comparing what two executors wrote, by the type of each result."""

from dataclasses import dataclass

import numpy as np

from judge.backends.cpu.interpreter.rounding import Format, decode, format_of
from judge.backends.cpu.interpreter.tolerance import EXACT, Tolerance, tolerance_of
from judge.backends.cpu.ir import WIDTHS, Instruction
from tests.fuzz.batch import Batch, Result

_BITWISE = frozenset({"mov", "selp", "slct", "set", "shfl", "ld", "st"})
"""Opcodes that only move bits: a NaN keeps its payload."""
_FLOATS = frozenset({"f16", "bf16", "f32", "f64", "tf32", "f16x2", "bf16x2", "e4m3x2", "e5m2x2"})


@dataclass(frozen=True)
class Difference:
    result: Result
    lane: int
    expected: int
    got: int

    def __str__(self) -> str:
        values = f"expected {self.expected:#x}, got {self.got:#x}"
        return f"{self.result.text}\n    lane {self.lane} as {self.result.type}: {values}"


def compare(batch: Batch, expected: np.ndarray, got: np.ndarray) -> list[Difference]:
    """The first differing lane of every row that differs by more than its form allows."""
    found = []
    for number in np.flatnonzero((expected != got).any(axis=1)).tolist():
        result = batch.results[number]
        equal = agree(result, expected[number], got[number])
        if not equal.all():
            lane = int(np.flatnonzero(~equal)[0])
            found.append(Difference(result, lane, int(expected[number, lane]), int(got[number, lane])))
    return found


def agree(result: Result, expected: np.ndarray, got: np.ndarray) -> np.ndarray:
    """Lanes whose bits are equal, or both NaN, or within the tolerance of the form."""
    equal = expected == got
    if result.spelling.partition(".")[0] in _BITWISE or result.type not in _FLOATS:
        return equal
    type_ = "f32" if result.type == "tf32" else result.type
    spelling = result.spelling.split(".")
    tolerance = tolerance_of(Instruction(spelling[0], tuple(spelling[1:]), (), ()))
    format_, elements = format_of(type_)
    mask = np.uint64((1 << format_.bits) - 1)
    close = np.ones(equal.shape, dtype=bool)
    for element in range(elements):
        shift = np.uint64(format_.bits * element)
        close &= _close(expected >> shift & mask, got >> shift & mask, format_, tolerance)
    rest = np.uint64(WIDTHS[type_])
    upper = (expected >> rest == got >> rest) if WIDTHS[type_] < 64 else True
    return equal | (close & upper)


def _close(expected: np.ndarray, got: np.ndarray, format_: Format, tolerance: Tolerance) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return _within(expected, got, format_, tolerance)


def _within(expected: np.ndarray, got: np.ndarray, format_: Format, tolerance: Tolerance) -> np.ndarray:
    a, b = decode(expected, format_), decode(got, format_)
    same = (expected == got) | (np.isnan(a) & np.isnan(b))
    if tolerance == EXACT:
        return same
    distance = np.abs(_ordinal(expected, format_) - _ordinal(got, format_))
    finite = np.isfinite(a) & np.isfinite(b)
    return same | (finite & ((distance <= tolerance.ulp) | (np.abs(a - b) <= tolerance.absolute)))


def _ordinal(raw: np.ndarray, format_: Format) -> np.ndarray:
    """Numbers of a format counted from zero outward, so that neighbors differ by one."""
    magnitude = (raw & np.uint64((1 << (format_.bits - 1)) - 1)).astype(np.int64)
    return np.where(raw >> np.uint64(format_.bits - 1) & np.uint64(1) == 1, -magnitude, magnitude)
