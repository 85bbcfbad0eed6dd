"""Floating-point arithmetic of f16, bf16, f32, f64 and the packed x2 forms.

Every operation but the approximate ones is rounded once, as IEEE 754 says, in the mode of the
form. A NaN result is the canonical NaN of its format. add/sub/mul of f32 without a rounding
modifier are rounded to nearest and never fused.
"""

import numpy as np

from judge.backends.cpu.interpreter.rounding import (
    F64,
    Floats,
    Format,
    Raw,
    encode,
    flush,
    format_of,
    fused,
    fused64,
    product64,
    quotient,
    quotient64,
    round_to,
    saturate,
    square_root,
    square_root64,
)
from judge.backends.cpu.interpreter.state import Step
from judge.backends.cpu.interpreter.table import executes
from judge.backends.cpu.refusal import NotEmulatedError


def _type(step: Step) -> str:
    return step.instruction.types[0]


def finish(step: Step, type_: str, values: Floats) -> None:
    """Apply .ftz, .relu and .sat to a rounded result and write it."""
    format_, _ = format_of(type_)
    if step.has("ftz") and format_ is not F64:
        values = flush(values, format_)
    if step.has("relu"):
        values = np.where(values > 0, values, np.where(np.isnan(values), np.nan, 0.0))
    if step.has("sat"):
        values = saturate(values)
    step.write_floats(step.instruction.destinations[0], type_, values)


def _lanes64(function: object, *operands: Floats, mode: str) -> Floats:
    assert callable(function)
    results = [function(*values, mode) for values in zip(*(o.ravel().tolist() for o in operands), strict=True)]
    return np.array(results, dtype=np.float64).reshape(operands[0].shape)


def _multiply_add(step: Step, a: Floats, b: Floats, c: Floats, type_: str) -> None:
    format_, _ = format_of(type_)
    mode = step.rounding()
    values = _lanes64(fused64, a, b, c, mode=mode) if format_ is F64 else round_to(fused(a, b, c, mode), format_, mode)
    finish(step, type_, values)


def add_sub(step: Step) -> None:
    type_ = _type(step)
    a, b = (step.floats(source, type_) for source in step.instruction.sources)
    if step.instruction.opcode == "sub":
        b = -b
    if type_ == "f64" and step.rounding() == "rn":
        finish(step, type_, a + b)
        return
    _multiply_add(step, a, np.ones_like(a), b, type_)


def mul(step: Step) -> None:
    type_ = _type(step)
    format_, _ = format_of(type_)
    mode = step.rounding()
    a, b = (step.floats(source, type_) for source in step.instruction.sources)
    finish(step, type_, _lanes64(product64, a, b, mode=mode) if format_ is F64 else round_to(a * b, format_, mode))


@executes("fma")
def fma(step: Step) -> None:
    type_ = _type(step)
    a, b, c = (step.floats(source, type_) for source in step.instruction.sources)
    _multiply_add(step, a, b, c, type_)


def div(step: Step) -> None:
    """div.approx and div.full are allowed to differ from this correctly rounded quotient."""
    type_ = _type(step)
    format_, _ = format_of(type_)
    a, b = (step.floats(source, type_) for source in step.instruction.sources)
    mode = step.rounding()
    if format_ is F64:
        finish(step, type_, _lanes64(quotient64, a, b, mode=mode))
    else:
        finish(step, type_, quotient(a, b, format_, mode))


@executes("sqrt")
def sqrt(step: Step) -> None:
    type_ = _type(step)
    format_, _ = format_of(type_)
    (a,) = (step.floats(source, type_) for source in step.instruction.sources)
    mode = step.rounding()
    if format_ is F64:
        finish(step, type_, _lanes64(square_root64, a, mode=mode))
    else:
        finish(step, type_, square_root(a, format_, mode))


@executes("rcp")
def rcp(step: Step) -> None:
    type_ = _type(step)
    format_, _ = format_of(type_)
    (a,) = (step.floats(source, type_) for source in step.instruction.sources)
    one = np.ones_like(a)
    mode = step.rounding()
    if format_ is F64 and step.has("approx"):
        _write_upper_half(step, 1.0 / _upper_half(a))
    elif format_ is F64:
        finish(step, type_, _lanes64(quotient64, one, a, mode=mode))
    else:
        finish(step, type_, quotient(one, a, format_, mode))


@executes("rsqrt")
def rsqrt(step: Step) -> None:
    type_ = _type(step)
    format_, _ = format_of(type_)
    (a,) = (step.floats(source, type_) for source in step.instruction.sources)
    if format_ is F64 and step.has("ftz"):
        _write_upper_half(step, 1.0 / np.sqrt(_upper_half(a)))
    else:
        finish(step, type_, round_to(1.0 / np.sqrt(a), format_))


def _upper_half(values: Floats) -> Floats:
    """The .approx.ftz.f64 forms read only the upper 32 bits of their operand, and flush subnormal ones."""
    kept = values.view(np.uint64) & np.uint64(0xFFFF_FFFF_0000_0000)
    return flush(kept.view(np.float64), F64)


def _write_upper_half(step: Step, values: Floats) -> None:
    raw = encode(flush(values, F64), F64)[0] & np.uint64(0xFFFF_FFFF_0000_0000)
    step.write_raw(step.instruction.destinations[0], "f64", raw)


APPROXIMATE = {
    "ex2": np.exp2,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
}


@executes(*APPROXIMATE)
def approximate(step: Step) -> None:
    """The mathematical function, rounded once; hardware may differ (tolerance.py says by how much)."""
    type_ = _type(step)
    format_, _ = format_of(type_)
    (a,) = (step.floats(source, type_) for source in step.instruction.sources)
    if format_ is F64:
        raise NotEmulatedError(step.instruction.form)
    values = round_to(APPROXIMATE[step.instruction.opcode](a), format_)
    finish(step, type_, values)


def _sign_mask(format_: Format, elements: int) -> np.uint64:
    one = 1 << (format_.bits - 1)
    return np.uint64(one | (one << format_.bits if elements == 2 else 0))


def change_sign(step: Step) -> None:
    """abs and neg: the sign bit alone changes, also of a NaN."""
    type_ = _type(step)
    format_, elements = format_of(type_)
    (source,) = step.instruction.sources
    raw: Raw = step.raw(source, type_)
    if step.has("ftz"):
        values = step.floats(source, type_)
        quiet = encode(values, format_)
        raw = quiet[0] if elements == 1 else quiet[0] | quiet[1] << np.uint64(format_.bits)
    sign = _sign_mask(format_, elements)
    raw = raw & ~sign if step.instruction.opcode == "abs" else raw ^ sign
    step.write_raw(step.instruction.destinations[0], type_, raw)


def choose(a: Floats, b: Floats, *, larger: bool, nan_wins: bool) -> Floats:
    """min or max; -0 is below +0. One NaN loses, unless nan_wins."""
    first_sign = ~np.signbit(a) if larger else np.signbit(a)
    beyond = a > b if larger else a < b
    result = np.where(beyond | ((a == b) & first_sign), a, b)
    if nan_wins:
        return np.where(np.isnan(a) | np.isnan(b), np.nan, result)
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, result))


def minimum_maximum(step: Step) -> None:
    """.xorsign.abs compares magnitudes and gives the result the exclusive or of the first two signs."""
    type_ = _type(step)
    operands = [step.floats(source, type_) for source in step.instruction.sources]
    larger = step.instruction.opcode == "max"
    sign = np.signbit(operands[0]) ^ np.signbit(operands[1])
    if step.has("abs"):
        operands = [np.abs(o) for o in operands]
    result = operands[0]
    for operand in operands[1:]:
        result = choose(result, operand, larger=larger, nan_wins=step.has("NaN"))
    if step.has("xorsign"):
        result = np.where(np.isnan(result), result, np.where(sign, -result, result))
    finish(step, type_, result)


@executes("copysign")
def copysign(step: Step) -> None:
    """The magnitude of b with the sign of a."""
    type_ = _type(step)
    a, b = (step.raw(source, type_) for source in step.instruction.sources)
    sign = _sign_mask(format_of(type_)[0], 1)
    step.write_raw(step.instruction.destinations[0], type_, (a & sign) | (b & ~sign))
