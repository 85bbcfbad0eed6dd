"""Logic, shifts and bit fields: functions of Python integers, applied lane by lane."""

from collections.abc import Callable

from judge.backends.cpu import ir
from judge.backends.cpu.interpreter.integers import per_lane
from judge.backends.cpu.interpreter.state import Step
from judge.backends.cpu.interpreter.table import executes
from judge.backends.cpu.refusal import NotEmulatedError

_ALL = 0xFFFF_FFFF


def _type(step: Step) -> str:
    return step.instruction.types[0]


def _unsigned(type_: str) -> str:
    return type_ if type_ == "pred" else f"u{ir.WIDTHS[type_]}"


@executes("and")
def bit_and(step: Step) -> None:
    per_lane(step, lambda a, b: a & b, _unsigned(_type(step)))


@executes("or")
def bit_or(step: Step) -> None:
    per_lane(step, lambda a, b: a | b, _unsigned(_type(step)))


@executes("xor")
def bit_xor(step: Step) -> None:
    per_lane(step, lambda a, b: a ^ b, _unsigned(_type(step)))


@executes("not")
def bit_not(step: Step) -> None:
    per_lane(step, lambda a: ~a, _unsigned(_type(step)))


@executes("cnot")
def logical_not(step: Step) -> None:
    per_lane(step, lambda a: int(a == 0), _unsigned(_type(step)))


@executes("shl", "shr")
def shift(step: Step) -> None:
    """Amounts above the width behave as the width: zero, or the sign everywhere."""
    type_ = _type(step)
    bits = ir.WIDTHS[type_]
    value, amount = step.instruction.sources
    values = step.integers(value, type_)
    amounts = [min(n, bits) for n in step.integers(amount, "u32")]
    left = step.instruction.opcode == "shl"
    results = [v << n if left else v >> n for v, n in zip(values, amounts, strict=True)]
    step.write_integers(step.instruction.destinations[0], type_, results)


@executes("shf")
def funnel_shift(step: Step) -> None:
    """shf.l: the high word of (b:a) << n; shf.r: the low word of (b:a) >> n; a is the low word."""
    wrap, left = step.has("wrap"), step.has("l")

    def shifted(a: int, b: int, c: int) -> int:
        amount = c & 31 if wrap else min(c, 32)
        double = b << 32 | a
        return double << amount >> 32 if left else double >> amount

    per_lane(step, shifted, "u32")


def _counting(step: Step, function: Callable[..., int]) -> None:
    per_lane(step, function, _unsigned(_type(step)), "u32")


@executes("popc")
def popc(step: Step) -> None:
    _counting(step, lambda a: a.bit_count())


@executes("clz")
def clz(step: Step) -> None:
    bits = ir.WIDTHS[_type(step)]
    _counting(step, lambda a: bits - a.bit_length())


@executes("brev")
def brev(step: Step) -> None:
    bits = ir.WIDTHS[_type(step)]
    per_lane(step, lambda a: int(f"{a:0{bits}b}"[::-1], 2), _unsigned(_type(step)))


@executes("bfind")
def bfind(step: Step) -> None:
    """Position of the highest one bit (of a negative number: of the highest zero), all ones for none."""
    type_ = _type(step)
    bits = ir.WIDTHS[type_]
    amount = step.has("shiftamt")

    def found(a: int) -> int:
        position = (~a if a < 0 else a).bit_length() - 1
        return bits - 1 - position if amount and position >= 0 else position

    per_lane(step, found, type_, "u32")


@executes("fns")
def fns(step: Step) -> None:
    """Position of the n-th set bit counted from a base bit, upward or downward; all ones for none."""
    mask, base, offset = step.instruction.sources
    lanes = zip(step.integers(mask, "u32"), step.integers(base, "u32"), step.integers(offset, "s32"), strict=True)
    results = []
    for m, b, n in lanes:
        if n == 0:
            results.append(b if b < 32 and m >> b & 1 else -1)
            continue
        places = range(b, 32) if n > 0 else range(min(b, 31), -1, -1)
        hits = [p for p in places if m >> p & 1]
        results.append(hits[abs(n) - 1] if abs(n) <= len(hits) else -1)
    step.write_integers(step.instruction.destinations[0], "u32", results)


@executes("bfe")
def bfe(step: Step) -> None:
    """Bits [position, position + length) of a; those past the top are zero, or the sign for signed types."""
    type_ = _type(step)
    top = ir.WIDTHS[type_] - 1
    value, position, length = step.instruction.sources
    lanes = zip(
        step.integers(value, _unsigned(type_)),
        step.integers(position, "u32"),
        step.integers(length, "u32"),
        strict=True,
    )
    results = []
    for a, b, c in lanes:
        pos, size = b & 0xFF, c & 0xFF
        field = (a >> pos) & ((1 << size) - 1)
        if type_[0] == "s" and size and a >> min(pos + size - 1, top) & 1:
            taken = max(min(size, top + 1 - pos), 0)
            field |= -1 << taken
        results.append(field)
    step.write_integers(step.instruction.destinations[0], type_, results)


@executes("bfi")
def bfi(step: Step) -> None:
    """b with its bits [position, position + length) replaced by the low bits of a."""
    type_ = _type(step)
    source, into, position, length = step.instruction.sources
    lanes = zip(
        step.integers(source, type_),
        step.integers(into, type_),
        step.integers(position, "u32"),
        step.integers(length, "u32"),
        strict=True,
    )
    results = []
    for a, b, c, d in lanes:
        pos, size = c & 0xFF, d & 0xFF
        field = ((1 << size) - 1) << pos
        results.append((b & ~field) | (a << pos & field))
    step.write_integers(step.instruction.destinations[0], type_, results)


@executes("bmsk")
def bmsk(step: Step) -> None:
    """b ones from bit a on."""
    wrap = step.has("wrap")

    def mask(a: int, b: int) -> int:
        start, size = (a & 31, b & 31) if wrap else (min(a, 32), min(b, 32))
        return (((1 << size) - 1) << start) & _ALL

    per_lane(step, mask, "u32")


@executes("szext")
def szext(step: Step) -> None:
    """The low b bits of a, extended with zeros or their sign; b of 32 or more keeps a (clamp)."""
    type_ = _type(step)
    wrap = step.has("wrap")

    def extended(a: int, b: int) -> int:
        size = b & 31 if wrap else min(b, 32)
        low = a & ((1 << size) - 1)
        return low - (1 << size) if type_[0] == "s" and size and low >> (size - 1) else low

    per_lane(step, extended, "u32")


_PRMT_MODES: dict[str, tuple[tuple[int, int, int, int], ...]] = {
    # Byte numbers of {b, a} for result bytes 3, 2, 1, 0, by the low two bits of the selector.
    "f4e": ((3, 2, 1, 0), (4, 3, 2, 1), (5, 4, 3, 2), (6, 5, 4, 3)),
    "b4e": ((5, 6, 7, 0), (6, 7, 0, 1), (7, 0, 1, 2), (0, 1, 2, 3)),
    "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
    "ecl": ((3, 2, 1, 0), (3, 2, 1, 1), (3, 2, 2, 2), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (1, 1, 1, 0), (2, 2, 1, 0), (3, 2, 1, 0)),
    "rc16": ((1, 0, 1, 0), (3, 2, 3, 2), (1, 0, 1, 0), (3, 2, 3, 2)),
}


@executes("prmt")
def prmt(step: Step) -> None:
    """Four bytes picked from the eight of {b, a}. The default mode can spread a byte's sign instead."""
    mode = next((m for m in step.modifiers if m in _PRMT_MODES), None)

    def permuted(a: int, b: int, c: int) -> int:
        bytes_ = (b << 32 | a).to_bytes(8, "little")
        result = 0
        for place in range(4):
            if mode is None:
                selector = c >> 4 * place & 0xF
                byte = bytes_[selector & 7]
                if selector & 8:
                    byte = 0xFF if byte & 0x80 else 0
            else:
                byte = bytes_[_PRMT_MODES[mode][c & 3][3 - place]]
            result |= byte << 8 * place
        return result

    per_lane(step, permuted, "u32")


@executes("lop3")
def lop3(step: Step) -> None:
    """Any function of three bits: bit number (a, b, c) of the table. .or/.and also give a predicate."""
    a, b, c, table, *predicate = step.instruction.sources
    lanes = zip(*(step.integers(s, "u32") for s in (a, b, c, table)), strict=True)
    results = []
    for x, y, z, lut in lanes:
        result = 0
        for entry in range(8):
            if lut >> entry & 1:
                result |= (x if entry & 4 else ~x) & (y if entry & 2 else ~y) & (z if entry & 1 else ~z)
        results.append(result & _ALL)
    destinations = step.instruction.destinations
    step_predicates = step.predicates(predicate[0]) if predicate else None
    step.write_integers(destinations[0], "u32", results)
    if step_predicates is not None:
        non_zero = [r != 0 for r in results]
        combine = {"or": step_predicates.__or__, "and": step_predicates.__and__}
        operation = next((m for m in step.modifiers if m in combine), None)
        if operation is None:
            raise NotEmulatedError(step.instruction.form)
        step.write_predicates(destinations[1], combine[operation](non_zero))
