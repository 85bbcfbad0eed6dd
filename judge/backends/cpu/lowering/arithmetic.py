"""Integer and logic operations."""

from collections.abc import Callable

from judge.backends.cpu.ir import WIDTHS, Instruction
from judge.backends.cpu.lowering.context import Lowering
from judge.backends.cpu.lowering.floats import float_binary, float_mad, float_unary, is_float_type
from judge.backends.cpu.lowering.uniformity import divisor_of
from judge.backends.cpu.lowering.values import BITS, Value, const_int, int_elem, vtype

Operation = Callable[[Lowering, Instruction], None]

_PACKED = {"u16x2", "s16x2"}


def _type(instruction: Instruction) -> str:
    return instruction.types[-1]


def _int(type_: str) -> str:
    return int_elem(WIDTHS[type_])


def _signed(type_: str) -> bool:
    return type_.startswith("s")


def _operands(lw: Lowering, instruction: Instruction, elem: str, signed: bool = False) -> list[Value]:
    return [lw.read(s, elem, signed=signed) for s in instruction.sources]


def add_sub(lw: Lowering, instruction: Instruction) -> None:
    type_ = _type(instruction)
    if is_float_type(type_):
        return float_binary(lw, instruction)
    op = "add" if instruction.opcode in ("add", "addc") else "sub"
    if type_ in _PACKED:
        return _packed(lw, instruction, lambda a, b: lw.b.binary(op, a, b))
    elem = _int(type_)
    a, b = _operands(lw, instruction, elem, _signed(type_))
    if "sat" in instruction.modifiers:
        return lw.write(instruction.destinations[0], lw.b.intrinsic(f"s{op}.sat", a, b))
    if instruction.opcode in ("addc", "subc") or "cc" in instruction.modifiers:
        return _with_carry(lw, instruction, op, a, b)
    return lw.write(instruction.destinations[0], lw.b.binary(op, a, b))


def _with_carry(lw: Lowering, instruction: Instruction, op: str, a: Value, b: Value) -> None:
    carry_in = lw.carry if instruction.opcode in ("addc", "subc", "madc") else None
    result = lw.b.binary(op, a, b)
    out = lw.b.icmp("ult", result, a) if op == "add" else lw.b.icmp("ult", a, b)
    if carry_in is not None:
        step = lw.b.resize(carry_in, a.elem)
        second = lw.b.binary(op, result, step)
        wraps = lw.b.icmp("ult", second, result) if op == "add" else lw.b.icmp("ult", result, step)
        out = lw.b.binary("or", out, wraps)
        result = second
    if "cc" in instruction.modifiers:
        lw.carry = out
    lw.write(instruction.destinations[0], result)


def _packed(lw: Lowering, instruction: Instruction, each: Callable[[Value, Value], Value]) -> None:
    a, b = _operands(lw, instruction, "i32")
    low = each(lw.b.resize(a, "i16"), lw.b.resize(b, "i16"))
    sixteen = const_int(16, "i32")
    high = each(
        lw.b.resize(lw.b.binary("lshr", a, sixteen), "i16"), lw.b.resize(lw.b.binary("lshr", b, sixteen), "i16")
    )
    shifted = lw.b.binary("shl", lw.b.resize(high, "i32"), sixteen)
    lw.write(instruction.destinations[0], lw.b.binary("or", lw.b.resize(low, "i32"), shifted))


def _product(lw: Lowering, instruction: Instruction, a: Value, b: Value, type_: str) -> Value:
    """a * b by the .lo, .hi or .wide suffix."""
    signed = _signed(type_)
    if "hi" in instruction.modifiers and WIDTHS[type_] == 64 and (a.vec or b.vec):
        return _upper_half(lw, a, b, signed)
    if "wide" in instruction.modifiers or "hi" in instruction.modifiers:
        double = int_elem(2 * WIDTHS[type_])
        product = lw.b.binary("mul", lw.b.resize(a, double, signed), lw.b.resize(b, double, signed))
        if "wide" in instruction.modifiers:
            return product
        shifted = lw.b.binary("lshr", product, const_int(WIDTHS[type_], double))
        return lw.b.resize(shifted, a.elem)
    return lw.b.binary("mul", a, b)


def _upper_half(lw: Lowering, a: Value, b: Value, signed: bool) -> Value:
    """Of the 128 bits of each lane's product. LLVM would take each lane apart, at 17 ms an instruction."""
    a, b = lw.b.unify(a, b)
    upper = Value(lw.b.call(vtype("i64", True), "judge_umulhi64", a.typed, b.typed), "i64", True)
    if not signed:
        return upper
    for one, other in ((a, b), (b, a)):
        negative = lw.b.binary("ashr", one, const_int(63, "i64"))
        upper = lw.b.binary("sub", upper, lw.b.binary("and", negative, other))
    return upper


def mul(lw: Lowering, instruction: Instruction) -> None:
    type_ = _type(instruction)
    if is_float_type(type_):
        return float_binary(lw, instruction)
    a, b = _operands(lw, instruction, _int(type_), _signed(type_))
    return lw.write(instruction.destinations[0], _product(lw, instruction, a, b, type_), signed=_signed(type_))


def mul24(lw: Lowering, instruction: Instruction) -> None:
    signed = _signed(_type(instruction))
    eight = const_int(8, "i32")
    values = []
    for source in instruction.sources[:2]:
        shifted = lw.b.binary("shl", lw.read(source, "i32"), eight)
        values.append(lw.b.resize(lw.b.binary("ashr" if signed else "lshr", shifted, eight), "i64", signed))
    product = lw.b.binary("mul", *values)
    if "hi" in instruction.modifiers:
        product = lw.b.binary("lshr", product, const_int(16, "i64"))
    result = lw.b.resize(product, "i32")
    if instruction.opcode == "mad24":
        addend = lw.read(instruction.sources[2], "i32")
        saturates = "sat" in instruction.modifiers
        result = lw.b.intrinsic("sadd.sat", result, addend) if saturates else lw.b.binary("add", result, addend)
    lw.write(instruction.destinations[0], result)


def mad(lw: Lowering, instruction: Instruction) -> None:
    type_ = _type(instruction)
    if is_float_type(type_):
        return float_mad(lw, instruction)
    a, b = (lw.read(s, _int(type_), signed=_signed(type_)) for s in instruction.sources[:2])
    product = _product(lw, instruction, a, b, type_)
    addend = lw.read(instruction.sources[2], product.elem, signed=_signed(type_))
    if "sat" in instruction.modifiers:
        return lw.write(instruction.destinations[0], lw.b.intrinsic("sadd.sat", product, addend))
    if "cc" in instruction.modifiers or instruction.opcode == "madc":
        return _with_carry(lw, instruction, "add", product, addend)
    return lw.write(instruction.destinations[0], lw.b.binary("add", product, addend), signed=_signed(type_))


def divide(lw: Lowering, instruction: Instruction) -> None:
    """Integer division; quotient and remainder by zero are all ones, as on NVIDIA GPUs."""
    type_ = _type(instruction)
    if is_float_type(type_):
        return float_binary(lw, instruction)
    signed, wants_quotient = _signed(type_), instruction.opcode == "div"
    elem = _int(type_)
    if lw.index in lw.uniformity.warp_quotients:
        return lw.write(instruction.destinations[0], _warp_quotient(lw, instruction))
    a, d = _operands(lw, instruction, elem, signed)
    b = lw.b
    if d.const is not None and 0 < d.const < 1 << (BITS[elem] - 1):
        op = ("sdiv" if signed else "udiv") if wants_quotient else ("srem" if signed else "urem")
        return lw.write(instruction.destinations[0], b.binary(op, a, d), signed=signed)
    zero, one = const_int(0, elem), const_int(1, elem)
    is_zero = b.icmp("eq", d, zero)
    safe = b.select(is_zero, one, d)
    if signed:
        minus = b.icmp("eq", d, const_int(-1, elem))
        safe = b.select(minus, one, safe)
    if safe.vec:
        safe = b.select(lw.mask, safe, one)
    if (a.vec or safe.vec) and BITS[elem] == 32:
        quotient = _quotient_by_doubles(lw, a, safe, signed)
    elif (a.vec or safe.vec) and BITS[elem] == 64:
        a, safe = b.unify(a, safe)
        name = "judge_sdiv64" if signed else "judge_udiv64"
        quotient = Value(b.call(vtype(elem, True), name, a.typed, safe.typed), elem, True)
    else:
        quotient = b.binary("sdiv" if signed else "udiv", a, safe)
    if signed:
        quotient = b.select(minus, b.binary("sub", zero, a), quotient)
    if wants_quotient:
        return lw.write(instruction.destinations[0], b.select(is_zero, const_int(-1, elem), quotient), signed=signed)
    remainder = b.binary("sub", a, b.binary("mul", quotient, d))
    return lw.write(instruction.destinations[0], b.select(is_zero, const_int(-1, elem), remainder), signed=signed)


def _quotient_by_doubles(lw: Lowering, a: Value, d: Value, signed: bool) -> Value:
    """Exact for 32-bit operands: a quotient is at least 2^-33 from an integer it does not equal."""
    to_double, back = ("sitofp", "fptosi") if signed else ("uitofp", "fptoui")
    a, d = lw.b.unify(a, d)
    quotient = lw.b.binary("fdiv", lw.b.cast(to_double, a, "double"), lw.b.cast(to_double, d, "double"))
    wide = lw.b.cast("fptosi" if signed else back, quotient, "i64")
    return lw.b.resize(wide, "i32")


def _warp_quotient(lw: Lowering, instruction: Instruction) -> Value:
    """tid.x / (32 k) of a one-dimensional CTA: the warp's index / k, one value for the warp."""
    from judge.backends.cpu.ir import Immediate

    amount = instruction.sources[1]
    assert isinstance(amount, Immediate)
    warps = divisor_of(instruction.opcode, amount) // 32
    return lw.b.binary("udiv", lw.special("warpid"), const_int(warps, "i32"))


def min_max(lw: Lowering, instruction: Instruction) -> None:
    type_ = _type(instruction)
    if is_float_type(type_):
        return float_binary(lw, instruction)
    if type_ in _PACKED:
        name = ("s" if type_.startswith("s") else "u") + instruction.opcode

        def each(a: Value, b: Value) -> Value:
            chosen = lw.b.intrinsic(name, a, b)
            return lw.b.intrinsic("smax", chosen, const_int(0, "i16")) if "relu" in instruction.modifiers else chosen

        return _packed(lw, instruction, each)
    a, b = _operands(lw, instruction, _int(type_), _signed(type_))
    result = lw.b.intrinsic(("s" if _signed(type_) else "u") + instruction.opcode, a, b)
    if "relu" in instruction.modifiers:
        result = lw.b.intrinsic("smax", result, const_int(0, result.elem))
    return lw.write(instruction.destinations[0], result, signed=_signed(type_))


def abs_neg(lw: Lowering, instruction: Instruction) -> None:
    type_ = _type(instruction)
    if is_float_type(type_):
        return float_unary(lw, instruction)
    a = lw.read(instruction.sources[0], _int(type_), signed=True)
    if instruction.opcode == "abs":
        return lw.write(instruction.destinations[0], lw.b.intrinsic("abs", a, tail="i1 false"), signed=True)
    return lw.write(instruction.destinations[0], lw.b.binary("sub", const_int(0, a.elem), a), signed=True)


def logic(lw: Lowering, instruction: Instruction) -> None:
    elem = "i1" if _type(instruction) == "pred" else _int(_type(instruction))
    a, b = _operands(lw, instruction, elem)
    lw.write(instruction.destinations[0], lw.b.binary(instruction.opcode, a, b))


def invert(lw: Lowering, instruction: Instruction) -> None:
    elem = "i1" if _type(instruction) == "pred" else _int(_type(instruction))
    a = lw.read(instruction.sources[0], elem)
    if instruction.opcode == "cnot":
        zero = lw.b.icmp("eq", a, const_int(0, elem))
        return lw.write(instruction.destinations[0], lw.b.resize(zero, elem))
    return lw.write(instruction.destinations[0], lw.b.binary("xor", a, const_int(-1, elem)))


def shift(lw: Lowering, instruction: Instruction) -> None:
    """PTX clamps the amount at the width, where LLVM's result would be poison."""
    type_ = _type(instruction)
    if lw.index in lw.uniformity.warp_quotients:
        return lw.write(instruction.destinations[0], _warp_quotient(lw, instruction))
    elem, bits = _int(type_), WIDTHS[type_]
    arithmetic = instruction.opcode == "shr" and _signed(type_)
    op = "shl" if instruction.opcode == "shl" else ("ashr" if arithmetic else "lshr")
    a = lw.read(instruction.sources[0], elem, signed=arithmetic)
    amount = lw.read(instruction.sources[1], "i32")
    if amount.const is not None:
        if amount.const < bits:
            return lw.write(instruction.destinations[0], lw.b.binary(op, a, const_int(amount.const, elem)))
        result = lw.b.binary(op, a, const_int(bits - 1, elem)) if arithmetic else const_int(0, elem)
        return lw.write(instruction.destinations[0], result)
    small = lw.b.icmp("ult", amount, const_int(bits, "i32"))
    clamped = lw.b.select(small, amount, const_int(bits - 1, "i32"))
    result = lw.b.binary(op, a, lw.b.resize(clamped, elem))
    if not arithmetic:
        result = lw.b.select(small, result, const_int(0, elem))
    return lw.write(instruction.destinations[0], result)


def funnel_shift(lw: Lowering, instruction: Instruction) -> None:
    low, high, amount = _operands(lw, instruction, "i32")
    if "clamp" in instruction.modifiers:
        amount = lw.b.intrinsic("umin", amount, const_int(32, "i32"))
        full = lw.b.icmp("eq", amount, const_int(32, "i32"))
        left = "l" in instruction.modifiers
        partial = lw.b.intrinsic("fshl" if left else "fshr", high, low, amount)
        return lw.write(instruction.destinations[0], lw.b.select(full, low if left else high, partial))
    name = "fshl" if "l" in instruction.modifiers else "fshr"
    return lw.write(instruction.destinations[0], lw.b.intrinsic(name, high, low, amount))


def count_bits(lw: Lowering, instruction: Instruction) -> None:
    elem = _int(_type(instruction))
    a = lw.read(instruction.sources[0], elem)
    if instruction.opcode == "popc":
        result = lw.b.intrinsic("ctpop", a)
    elif instruction.opcode == "clz":
        result = lw.b.intrinsic("ctlz", a, tail="i1 false")
    else:
        return lw.write(instruction.destinations[0], lw.b.intrinsic("bitreverse", a))
    return lw.write(instruction.destinations[0], lw.b.resize(result, "i32"))


def find_bit(lw: Lowering, instruction: Instruction) -> None:
    """bfind: the highest bit that differs from the sign, -1 for none."""
    type_ = _type(instruction)
    elem, bits = _int(type_), WIDTHS[type_]
    a = lw.read(instruction.sources[0], elem, signed=_signed(type_))
    if _signed(type_):
        a = lw.b.binary("xor", a, lw.b.binary("ashr", a, const_int(bits - 1, elem)))
    zeros = lw.b.resize(lw.b.intrinsic("ctlz", a, tail="i1 false"), "i32")
    result = zeros if "shiftamt" in instruction.modifiers else lw.b.binary("sub", const_int(bits - 1, "i32"), zeros)
    none = lw.b.icmp("eq", a, const_int(0, elem))
    lw.write(instruction.destinations[0], lw.b.select(none, const_int(-1, "i32"), result))


def _low_bits(lw: Lowering, length: Value, elem: str) -> Value:
    """(1 << length) - 1 with length clamped at the width."""
    bits = BITS[elem]
    whole = lw.b.icmp("uge", length, const_int(bits, "i32"))
    amount = lw.b.resize(lw.b.select(whole, const_int(0, "i32"), length), elem)
    part = lw.b.binary("sub", lw.b.binary("shl", const_int(1, elem), amount), const_int(1, elem))
    return lw.b.select(whole, const_int(-1, elem), part)


def _shift_clamped(lw: Lowering, op: str, value: Value, amount: Value) -> Value:
    """shl or lshr by an i32 amount, 0 past the width."""
    small = lw.b.icmp("ult", amount, const_int(value.bits, "i32"))
    safe = lw.b.resize(lw.b.select(small, amount, const_int(0, "i32")), value.elem)
    return lw.b.select(small, lw.b.binary(op, value, safe), const_int(0, value.elem))


def extract_field(lw: Lowering, instruction: Instruction) -> None:
    """bfe: `length` bits from `position`, the sign taken from the field's last existing bit."""
    type_ = _type(instruction)
    elem, bits = _int(type_), WIDTHS[type_]
    a = lw.read(instruction.sources[0], elem)
    byte = const_int(0xFF, "i32")
    position = lw.b.binary("and", lw.read(instruction.sources[1], "i32"), byte)
    length = lw.b.binary("and", lw.read(instruction.sources[2], "i32"), byte)
    mask = _low_bits(lw, length, elem)
    field = lw.b.binary("and", _shift_clamped(lw, "lshr", a, position), mask)
    if not _signed(type_):
        return lw.write(instruction.destinations[0], field)
    last = lw.b.binary("sub", lw.b.binary("add", position, length), const_int(1, "i32"))
    last = lw.b.intrinsic("umin", last, const_int(bits - 1, "i32"))
    sign = lw.b.resize(_shift_clamped(lw, "lshr", a, last), "i1")
    empty = lw.b.icmp("eq", length, const_int(0, "i32"))
    fill = lw.b.select(sign, lw.b.binary("xor", mask, const_int(-1, elem)), const_int(0, elem))
    beyond = lw.b.binary("or", field, fill)
    # Bits between the value's end and the field's end also take the sign.
    kept = lw.b.select(
        lw.b.icmp("uge", position, const_int(bits, "i32")),
        const_int(0, elem),
        _shift_clamped(lw, "lshr", const_int(-1, elem), position),
    )
    missing = lw.b.binary("and", mask, lw.b.binary("xor", kept, const_int(-1, elem)))
    beyond = lw.b.select(sign, lw.b.binary("or", beyond, missing), beyond)
    return lw.write(instruction.destinations[0], lw.b.select(empty, const_int(0, elem), beyond))


def insert_field(lw: Lowering, instruction: Instruction) -> None:
    elem = _int(_type(instruction))
    a, into = lw.read(instruction.sources[0], elem), lw.read(instruction.sources[1], elem)
    byte = const_int(0xFF, "i32")
    position = lw.b.binary("and", lw.read(instruction.sources[2], "i32"), byte)
    length = lw.b.binary("and", lw.read(instruction.sources[3], "i32"), byte)
    mask = _shift_clamped(lw, "shl", _low_bits(lw, length, elem), position)
    moved = lw.b.binary("and", _shift_clamped(lw, "shl", a, position), mask)
    kept = lw.b.binary("and", into, lw.b.binary("xor", mask, const_int(-1, elem)))
    lw.write(instruction.destinations[0], lw.b.binary("or", moved, kept))


def bit_mask(lw: Lowering, instruction: Instruction) -> None:
    position, length = _operands(lw, instruction, "i32")
    if "wrap" in instruction.modifiers:
        five = const_int(31, "i32")
        position, length = lw.b.binary("and", position, five), lw.b.binary("and", length, five)
    lw.write(instruction.destinations[0], _shift_clamped(lw, "shl", _low_bits(lw, length, "i32"), position))


def lop3(lw: Lowering, instruction: Instruction) -> None:
    """Any function of three bits, as the sum of its minterms."""
    a, b, c = (lw.read(s, "i32") for s in instruction.sources[:3])
    table = lw.read(instruction.sources[3], "i32").const or 0
    ones = const_int(-1, "i32")
    inverted = [lw.b.binary("xor", v, ones) for v in (a, b, c)]
    result = const_int(0, "i32")
    for term in range(8):
        if not table >> term & 1:
            continue
        factors = [v if term & bit else n for v, n, bit in zip((a, b, c), inverted, (4, 2, 1), strict=True)]
        product = lw.b.binary("and", lw.b.binary("and", factors[0], factors[1]), factors[2])
        result = lw.b.binary("or", result, product)
    lw.write(instruction.destinations[0], result)
    if len(instruction.destinations) > 1:  # lop3.or and lop3.and: is the result non-zero, joined with a predicate
        joined = "or" if "or" in instruction.modifiers else "and"
        non_zero = lw.b.icmp("ne", result, const_int(0, "i32"))
        lw.write(instruction.destinations[1], lw.b.binary(joined, non_zero, lw.read(instruction.sources[4], "i1")))


def permute_bytes(lw: Lowering, instruction: Instruction) -> None:
    """prmt: four bytes picked from eight, by selector or by one of the special modes."""
    a, b, selector = (lw.read(s, "i32") for s in instruction.sources[:3])
    both = lw.b.binary("or", lw.b.resize(a, "i64"), lw.b.binary("shl", lw.b.resize(b, "i64"), const_int(32, "i64")))
    modes = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"} & set(instruction.modifiers)
    result = const_int(0, "i32")
    for position in range(4):
        nibble = lw.b.binary("lshr", selector, const_int(4 * position, "i32"))
        if modes:
            which, sign = _mode_byte(lw, next(iter(modes)), selector, position), None
        else:
            which = lw.b.binary("and", nibble, const_int(7, "i32"))
            sign = lw.b.icmp("ne", lw.b.binary("and", nibble, const_int(8, "i32")), const_int(0, "i32"))
        amount = lw.b.resize(lw.b.binary("shl", which, const_int(3, "i32")), "i64")
        byte = lw.b.resize(lw.b.binary("lshr", both, amount), "i8")
        if sign is not None:
            byte = lw.b.select(sign, lw.b.binary("ashr", byte, const_int(7, "i8")), byte)
        placed = lw.b.binary("shl", lw.b.resize(byte, "i32"), const_int(8 * position, "i32"))
        result = lw.b.binary("or", result, placed)
    lw.write(instruction.destinations[0], result)


def _mode_byte(lw: Lowering, mode: str, selector: Value, position: int) -> Value:
    rows = {
        "f4e": [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]],
        "b4e": [[0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]],
        "rc8": [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]],
        "ecl": [[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]],
        "ecr": [[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]],
        "rc16": [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]],
    }[mode]
    packed = sum(rows[row][position] << (8 * row) for row in range(4))
    amount = lw.b.binary("shl", lw.b.binary("and", selector, const_int(3, "i32")), const_int(3, "i32"))
    return lw.b.binary("and", lw.b.binary("lshr", const_int(packed, "i32"), amount), const_int(7, "i32"))


def dot_product(lw: Lowering, instruction: Instruction) -> None:
    """dp4a and dp2a: products of packed bytes (and half-words) added to a 32-bit value."""
    types = [m for m in instruction.modifiers if m in ("u32", "s32")]
    a, b, total = (lw.read(s, "i32") for s in instruction.sources)
    four = instruction.opcode == "dp4a"
    first = 0 if four or "lo" in instruction.modifiers else 2
    for k in range(4 if four else 2):
        x = _field(lw, a, 8 * k if four else 16 * k, 8 if four else 16, types[0] == "s32")
        y = _field(lw, b, 8 * (first + k), 8, types[1] == "s32")
        total = lw.b.binary("add", total, lw.b.binary("mul", x, y))
    lw.write(instruction.destinations[0], total)


def _field(lw: Lowering, value: Value, start: int, bits: int, signed: bool) -> Value:
    shifted = lw.b.binary("lshr", value, const_int(start, "i32"))
    return lw.b.resize(lw.b.resize(shifted, int_elem(bits)), "i32", signed)


def sad(lw: Lowering, instruction: Instruction) -> None:
    type_ = _type(instruction)
    a, b, c = _operands(lw, instruction, _int(type_), _signed(type_))
    prefix = "s" if _signed(type_) else "u"
    difference = lw.b.binary("sub", lw.b.intrinsic(prefix + "max", a, b), lw.b.intrinsic(prefix + "min", a, b))
    lw.write(instruction.destinations[0], lw.b.binary("add", c, difference), signed=_signed(type_))


def sign_extend(lw: Lowering, instruction: Instruction) -> None:
    """szext: sign- or zero-extend the low N bits."""
    type_ = _type(instruction)
    a, n = _operands(lw, instruction, "i32")
    n = lw.b.binary("and", n, const_int(31, "i32")) if "wrap" in instruction.modifiers else n
    mask = _low_bits(lw, n, "i32")
    low = lw.b.binary("and", a, mask)
    if type_ == "u32":
        return lw.write(instruction.destinations[0], low)
    none = lw.b.icmp("eq", n, const_int(0, "i32"))
    top = lw.b.intrinsic("umin", lw.b.binary("sub", n, const_int(1, "i32")), const_int(31, "i32"))
    sign = lw.b.resize(_shift_clamped(lw, "lshr", a, top), "i1")
    filled = lw.b.select(sign, lw.b.binary("or", low, lw.b.binary("xor", mask, const_int(-1, "i32"))), low)
    return lw.write(instruction.destinations[0], lw.b.select(none, const_int(0, "i32"), filled))


OPERATIONS: dict[str, Operation] = {
    "add": add_sub,
    "addc": add_sub,
    "sub": add_sub,
    "subc": add_sub,
    "mul": mul,
    "mul24": mul24,
    "mad24": mul24,
    "mad": mad,
    "madc": mad,
    "fma": mad,
    "div": divide,
    "rem": divide,
    "min": min_max,
    "max": min_max,
    "abs": abs_neg,
    "neg": abs_neg,
    "and": logic,
    "or": logic,
    "xor": logic,
    "not": invert,
    "cnot": invert,
    "shl": shift,
    "shr": shift,
    "shf": funnel_shift,
    "popc": count_bits,
    "clz": count_bits,
    "brev": count_bits,
    "bfind": find_bit,
    "bfe": extract_field,
    "bfi": insert_field,
    "bmsk": bit_mask,
    "lop3": lop3,
    "prmt": permute_bytes,
    "dp4a": dot_product,
    "dp2a": dot_product,
    "sad": sad,
    "szext": sign_extend,
}
