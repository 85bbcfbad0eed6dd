"""cvt in all its pairs, and cvt.pack.

The destination type comes first in the form. A destination register wider than its type is
extended by the type's sign. Float to integer saturates; a NaN gives 0, except that the top bit
alone comes out when the source is f64 or the destination has 64 bits (PTX ISA 9.0, cvt).
"""

import math

import numpy as np

from judge.backends.cpu import ir
from judge.backends.cpu.interpreter.integers import FLOAT_TYPES, clamp
from judge.backends.cpu.interpreter.rounding import F32, F64, Floats, flush, format_of, round_ratio, round_to, saturate
from judge.backends.cpu.interpreter.state import Step
from judge.backends.cpu.interpreter.table import executes
from judge.backends.cpu.refusal import NotEmulatedError

_INTEGER_MODES = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
_FLOATS = FLOAT_TYPES | {"tf32", "e4m3x2", "e5m2x2"}


@executes("cvt")
def cvt(step: Step) -> None:
    if step.has("pack"):
        _pack(step)
        return
    to, from_ = step.instruction.types[:2]
    destination, source = step.instruction.destinations[0], step.instruction.sources[0]
    if len(step.instruction.sources) == 2 and to in _FLOATS:
        _pack_two_floats(step, to)
    elif to in _FLOATS and from_ in _FLOATS:
        _float_to_float(step, to, from_)
    elif to in _FLOATS:
        _integer_to_float(step, to, from_)
    elif from_ in _FLOATS:
        _float_to_integer(step, to, from_)
    else:
        values = step.integers(source, from_)
        step.write_integers(destination, to, [clamp(v, to) for v in values] if step.has("sat") else values)


def _integer_rounding(step: Step) -> str | None:
    return next((m for m in step.modifiers if m in _INTEGER_MODES), None)


def _float_to_integer(step: Step, to: str, from_: str) -> None:
    values = step.floats(step.instruction.sources[0], from_)[0]
    rounded = _INTEGER_MODES[_integer_rounding(step) or "rzi"](values)
    bits = ir.WIDTHS[to]
    for_nan = 1 << (bits - 1) if from_ == "f64" or bits == 64 else 0
    results = []
    for value in rounded.tolist():
        if math.isnan(value):
            results.append(for_nan)
        elif math.isinf(value):
            results.append(clamp(1 << 64 if value > 0 else -(1 << 64), to))
        else:
            results.append(clamp(int(value), to))
    step.write_integers(step.instruction.destinations[0], to, results)


def _integer_to_float(step: Step, to: str, from_: str) -> None:
    format_, _ = format_of(to)
    mode = step.rounding()
    integers = step.integers(step.instruction.sources[0], from_)
    if format_ is F64:
        values = np.array([[round_ratio(v, 1, mode) if v else 0.0 for v in integers]])
    else:
        values = round_to(np.array([[_to_odd(v) for v in integers]]), format_, mode)
    _finish(step, to, values)


def _to_odd(value: int) -> float:
    """A float64 that rounds to 24 bits or fewer as the integer itself does."""
    excess = max(value.bit_length() - 53, 0)
    kept, lost = value >> excess, value & ((1 << excess) - 1)
    return float((kept | (lost != 0)) << excess)


def _float_to_float(step: Step, to: str, from_: str) -> None:
    format_, elements = format_of(to)
    source_format, source_elements = format_of(from_)
    if elements != source_elements:
        raise NotEmulatedError(step.instruction.form)
    values = step.floats(step.instruction.sources[0], from_)
    integer_mode = _integer_rounding(step)
    if integer_mode is not None:
        values = np.copysign(_INTEGER_MODES[integer_mode](values), values)
    values = _round(step, values, to)
    if format_ is F64 and source_format is F64 and integer_mode is None and not step.has("sat"):
        # A plain cvt.f64.f64 keeps every bit.
        step.write_raw(step.instruction.destinations[0], to, step.raw(step.instruction.sources[0], from_))
        return
    _finish(step, to, values)


def _round(step: Step, values: Floats, to: str) -> Floats:
    return round_to(values, format_of(to)[0], step.rounding(), satfinite=step.has("satfinite"))


def _finish(step: Step, to: str, values: Floats) -> None:
    if step.has("ftz") and to == "f32":
        values = flush(values, F32)
    if step.has("relu"):
        values = np.where(values > 0, values, np.where(np.isnan(values), np.nan, 0.0))
    if step.has("sat"):
        values = saturate(values)
    step.write_floats(step.instruction.destinations[0], to, values)


def _pack_two_floats(step: Step, to: str) -> None:
    """cvt.rn.f16x2.f32 d, a, b: a goes to the upper half, b to the lower."""
    from_ = step.instruction.types[1]
    upper, lower = (step.floats(source, from_)[0] for source in step.instruction.sources)
    _finish(step, to, _round(step, np.stack([lower, upper]), to))


def _pack(step: Step) -> None:
    """cvt.pack.sat.TO.FROM d, a, b[, c]: a above b, saturated; with c its low bits move up."""
    to, from_ = step.instruction.types[:2]
    bits = ir.WIDTHS[to]
    a, b, *rest = step.instruction.sources
    above = step.integers(rest[0], "b32") if rest else [0] * len(step.lanes)
    mask = (1 << bits) - 1
    results = []
    for x, y, c in zip(step.integers(a, from_), step.integers(b, from_), above, strict=True):
        packed = (clamp(x, to) & mask) << bits | (clamp(y, to) & mask)
        results.append(c << 2 * bits | packed)
    step.write_integers(step.instruction.destinations[0], "b32", results)
