"""Comparison and selection: setp, set, selp, testp."""

import numpy as np

from judge.backends.cpu import ir
from judge.backends.cpu.interpreter.integers import FLOAT_TYPES
from judge.backends.cpu.interpreter.rounding import Floats, format_of
from judge.backends.cpu.interpreter.state import Mask, Step
from judge.backends.cpu.interpreter.table import executes
from judge.backends.cpu.refusal import NotEmulatedError

_ORDERED = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
COMPARISONS = frozenset({*_ORDERED, *_UNSIGNED, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"})
_COMBINATIONS = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def _compare_floats(operation: str, a: Floats, b: Floats) -> Mask:
    """Ordered comparisons are false for a NaN, the ones ending in u are true."""
    unordered = np.isnan(a) | np.isnan(b)
    if operation == "num":
        return ~unordered
    if operation == "nan":
        return unordered
    if operation in _ORDERED:
        ordered: Mask = _ORDERED[operation](a, b) & ~unordered
        return ordered
    either: Mask = _ORDERED[operation[:-1]](a, b) | unordered
    return either


def _compare(step: Step, type_: str) -> Mask:
    """Outcome of the comparison, shape (elements, lanes)."""
    operation = next(m for m in step.modifiers if m in COMPARISONS)
    a, b = step.instruction.sources[:2]
    if type_ in FLOAT_TYPES:
        return _compare_floats(operation, step.floats(a, type_), step.floats(b, type_))
    if operation in _UNSIGNED:
        operation, type_ = _UNSIGNED[operation], f"u{ir.WIDTHS[type_]}"
    left, right = (np.array(step.integers(x, type_), dtype=object) for x in (a, b))
    outcome: Mask = _ORDERED[operation](left, right).astype(bool)[np.newaxis, :]
    return outcome


def _combined(step: Step, outcome: Mask) -> Mask:
    """The outcome joined with the predicate c of the .and, .or and .xor forms."""
    name = next((m for m in step.modifiers if m in _COMBINATIONS), None)
    if name is None:
        return outcome
    joined: Mask = _COMBINATIONS[name](outcome, step.predicates(step.instruction.sources[2]))
    return joined


@executes("setp")
def setp(step: Step) -> None:
    """p|q: q is the negated comparison (joined with c as well); for x2 types p and q are the two halves."""
    type_ = step.instruction.types[0]
    outcome = _compare(step, type_)
    p, *q = step.instruction.destinations
    if len(outcome) == 2:
        halves = _combined(step, outcome)
        step.write_predicates(p, halves[0])
        if q:
            step.write_predicates(q[0], halves[1])
        return
    first, second = _combined(step, outcome)[0], _combined(step, ~outcome)[0]
    step.write_predicates(p, first)
    if q:
        step.write_predicates(q[0], second)


@executes("set")
def set_(step: Step) -> None:
    """All ones or 1.0 for true. An integer result of a packed comparison has one half a comparison."""
    result_type, type_ = step.instruction.types
    outcome = _combined(step, _compare(step, type_))
    destination = step.instruction.destinations[0]
    if result_type in FLOAT_TYPES:
        if len(outcome) != format_of(result_type)[1]:
            raise NotEmulatedError(step.instruction.form)
        step.write_floats(destination, result_type, outcome.astype(np.float64))
        return
    if len(outcome) == 2:
        low, high = (np.where(half, 0xFFFF, 0).astype(np.uint64) for half in outcome)
        step.write_raw(destination, result_type, low | high << np.uint64(16))
        return
    step.write_integers(destination, result_type, [-int(t) for t in outcome[0]])


@executes("selp")
def selp(step: Step) -> None:
    type_ = step.instruction.types[0]
    a, b, p = step.instruction.sources
    chosen = np.where(step.predicates(p), step.raw(a, type_), step.raw(b, type_))
    step.write_raw(step.instruction.destinations[0], type_, chosen)


@executes("testp")
def testp(step: Step) -> None:
    """Zeros count as normal numbers, as the manual says."""
    type_ = step.instruction.types[0]
    format_, _ = format_of(type_)
    value = step.floats(step.instruction.sources[0], type_)[0]
    magnitude = np.abs(value)
    tests = {
        "finite": np.isfinite(value),
        "infinite": np.isinf(value),
        "number": ~np.isnan(value),
        "notanumber": np.isnan(value),
        "normal": np.isfinite(value) & ((magnitude == 0) | (magnitude >= format_.smallest_normal)),
        "subnormal": (magnitude > 0) & (magnitude < format_.smallest_normal),
    }
    name = next(m for m in step.modifiers if m in tests)
    step.write_predicates(step.instruction.destinations[0], tests[name])
