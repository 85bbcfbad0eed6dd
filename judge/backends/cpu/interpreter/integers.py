"""Integer arithmetic: every opcode is a function of Python integers, applied lane by lane.

Python integers have no width, so each function states the exact result; the write cuts it to the
type's width. Signed types come in as negative numbers.

Division by zero has no result in the PTX ISA. As NVIDIA's hardware does, the quotient and the
remainder are then all ones.
"""

from collections.abc import Callable, Iterable

from judge.backends.cpu import ir
from judge.backends.cpu.interpreter import floats
from judge.backends.cpu.interpreter.state import Step, signed_list
from judge.backends.cpu.interpreter.table import executes
from judge.backends.cpu.refusal import NotEmulatedError

FLOAT_TYPES = frozenset({"f16", "bf16", "f32", "f64", "f16x2", "bf16x2"})


def _type(step: Step) -> str:
    return step.instruction.types[0]


def _bounds(type_: str) -> tuple[int, int]:
    bits = ir.WIDTHS[type_]
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if type_[0] == "s" else (0, (1 << bits) - 1)


def clamp(value: int, type_: str) -> int:
    low, high = _bounds(type_)
    return min(max(value, low), high)


def per_lane(step: Step, function: Callable[..., int], type_: str, result_type: str | None = None) -> None:
    """Apply a function of integers to every source, all of one type."""
    sources = [step.integers(source, type_) for source in step.instruction.sources]
    results = [function(*values) for values in zip(*sources, strict=True)]
    step.write_integers(step.instruction.destinations[0], result_type or type_, results)


def divide(a: int, b: int) -> int:
    """Quotient toward zero; all ones for a zero divisor."""
    if b == 0:
        return -1
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def remainder(a: int, b: int) -> int:
    """Remainder with the dividend's sign; all ones for a zero divisor."""
    if b == 0:
        return -1
    return a - b * divide(a, b)


@executes("add", "sub")
def add_sub(step: Step) -> None:
    if _type(step) in FLOAT_TYPES:
        floats.add_sub(step)
        return
    sign = 1 if step.instruction.opcode == "add" else -1
    if step.has("cc"):
        _with_carry(step, sign, reads=False)
        return
    type_ = _type(step)
    if step.has("sat"):
        per_lane(step, lambda a, b: clamp(a + sign * b, type_), type_)
    else:
        per_lane(step, lambda a, b: a + sign * b, type_)


@executes("addc", "subc")
def add_sub_with_carry(step: Step) -> None:
    _with_carry(step, 1 if step.instruction.opcode == "addc" else -1, reads=True)


def _unsigned(type_: str) -> str:
    return f"u{ir.WIDTHS[type_]}"


def _with_carry(step: Step, sign: int, *, reads: bool) -> None:
    """CC.CF is the carry of an addition and the borrow of a subtraction."""
    type_ = _unsigned(_type(step))
    a, b = (step.integers(source, type_) for source in step.instruction.sources)
    carry = step.warp.carry[step.lanes].tolist() if reads else [False] * len(a)
    totals = [x + sign * (y + c) for x, y, c in zip(a, b, carry, strict=True)]
    _write_carrying(step, type_, totals)


def _write_carrying(step: Step, type_: str, totals: Iterable[int]) -> None:
    totals = list(totals)
    limit = 1 << ir.WIDTHS[type_]
    step.write_integers(step.instruction.destinations[0], type_, totals)
    if step.has("cc"):
        step.warp.carry[step.lanes] = [not 0 <= total < limit for total in totals]


@executes("mul")
def mul(step: Step) -> None:
    type_ = _type(step)
    if type_ in FLOAT_TYPES:
        floats.mul(step)
    elif step.has("wide"):
        per_lane(step, lambda a, b: a * b, type_, _doubled(type_))
    elif step.has("hi"):
        bits = ir.WIDTHS[type_]
        per_lane(step, lambda a, b: (a * b) >> bits, type_)
    else:
        per_lane(step, lambda a, b: a * b, type_)


def _doubled(type_: str) -> str:
    return f"{type_[0]}{2 * ir.WIDTHS[type_]}"


@executes("mad")
def mad(step: Step) -> None:
    type_ = _type(step)
    if type_ in FLOAT_TYPES:
        floats.fma(step)
    elif step.has("cc"):
        _mad_with_carry(step, reads=False)
    elif step.has("wide"):
        wide = _doubled(type_)
        a, b, c = step.instruction.sources
        products = zip(step.integers(a, type_), step.integers(b, type_), step.integers(c, wide), strict=True)
        step.write_integers(step.instruction.destinations[0], wide, [x * y + z for x, y, z in products])
    elif step.has("hi"):
        bits = ir.WIDTHS[type_]
        limit = (lambda v: clamp(v, type_)) if step.has("sat") else int
        per_lane(step, lambda a, b, c: limit(((a * b) >> bits) + c), type_)
    else:
        per_lane(step, lambda a, b, c: a * b + c, type_)


@executes("madc")
def mad_with_carry(step: Step) -> None:
    _mad_with_carry(step, reads=True)


def _mad_with_carry(step: Step, *, reads: bool) -> None:
    """The carry is that of the last addition, between the chosen half of the product and c."""
    type_ = _type(step)
    unsigned = _unsigned(type_)
    bits = ir.WIDTHS[type_]
    mask = (1 << bits) - 1
    a, b, c = step.instruction.sources
    shift = bits if step.has("hi") else 0
    carry = step.warp.carry[step.lanes].tolist() if reads else [False] * len(step.lanes)
    operands = zip(step.integers(a, type_), step.integers(b, type_), step.integers(c, unsigned), carry, strict=True)
    _write_carrying(step, unsigned, [((x * y) >> shift & mask) + z + k for x, y, z, k in operands])


def _low24(value: int, type_: str) -> int:
    low = value & 0xFF_FFFF
    return low - (1 << 24) if type_[0] == "s" and low >> 23 else low


@executes("mul24", "mad24")
def mul24(step: Step) -> None:
    """.hi is bits 47 to 16 of the 48-bit product, .lo bits 31 to 0."""
    type_ = _type(step)
    shift = 16 if step.has("hi") else 0
    limit = (lambda v: clamp(v, type_)) if step.has("sat") else int

    def product(a: int, b: int, c: int = 0) -> int:
        part = (_low24(a, type_) * _low24(b, type_)) >> shift
        part &= 0xFFFF_FFFF
        if type_[0] == "s" and part >> 31:
            part -= 1 << 32
        return limit(part + c)

    per_lane(step, product, type_)


@executes("div")
def div(step: Step) -> None:
    if _type(step) in FLOAT_TYPES:
        floats.div(step)
    else:
        per_lane(step, divide, _type(step))


@executes("rem")
def rem(step: Step) -> None:
    per_lane(step, remainder, _type(step))


@executes("abs")
def absolute(step: Step) -> None:
    if _type(step) in FLOAT_TYPES:
        floats.change_sign(step)
    else:
        per_lane(step, abs, _type(step))


@executes("neg")
def negate(step: Step) -> None:
    if _type(step) in FLOAT_TYPES:
        floats.change_sign(step)
    else:
        per_lane(step, lambda a: -a, _type(step))


@executes("min", "max")
def minimum_maximum(step: Step) -> None:
    if _type(step) in FLOAT_TYPES:
        floats.minimum_maximum(step)
        return
    choose: Callable[..., int] = min if step.instruction.opcode == "min" else max
    if step.has("relu"):
        per_lane(step, lambda a, b: max(choose(a, b), 0), _type(step))
    else:
        per_lane(step, choose, _type(step))


@executes("sad")
def sad(step: Step) -> None:
    per_lane(step, lambda a, b, c: c + abs(a - b), _type(step))


def _parts(value: int, count: int, bits: int, type_: str) -> list[int]:
    mask = (1 << bits) - 1
    parts = [value >> bits * i & mask for i in range(count)]
    return [p - (1 << bits) if type_[0] == "s" and p >> (bits - 1) else p for p in parts]


@executes("dp4a", "dp2a")
def dot_product(step: Step) -> None:
    """dp4a: four byte products; dp2a: two 16-bit halves of a with the low or high two bytes of b."""
    a_type, b_type = step.instruction.types
    result_type = "s32" if "s32" in (a_type, b_type) else "u32"
    a, b, c = step.instruction.sources
    lanes = zip(step.integers(a, "u32"), step.integers(b, "u32"), step.integers(c, result_type), strict=True)
    results = []
    for x, y, z in lanes:
        if step.instruction.opcode == "dp4a":
            left, right = _parts(x, 4, 8, a_type), _parts(y, 4, 8, b_type)
        else:
            left = _parts(x, 2, 16, a_type)
            right = _parts(y, 4, 8, b_type)[2 if step.has("hi") else 0 :][:2]
        results.append(z + sum(p * q for p, q in zip(left, right, strict=True)))
    step.write_integers(step.instruction.destinations[0], result_type, results)


@executes("slct")
def slct(step: Step) -> None:
    """a where c >= 0, else b; a NaN c chooses b."""
    type_, sign_type = step.instruction.types
    a, b, c = step.instruction.sources
    if sign_type == "f32":
        takes_first = step.floats(c, "f32")[0] >= 0
    elif sign_type == "s32":
        takes_first = [v >= 0 for v in signed_list(step.raw(c, "s32"), 32)]
    else:
        raise NotEmulatedError(step.instruction.form)
    first, second = step.raw(a, type_).tolist(), step.raw(b, type_).tolist()
    step.write_integers(
        step.instruction.destinations[0],
        type_,
        [x if t else y for x, y, t in zip(first, second, takes_first, strict=True)],
    )
