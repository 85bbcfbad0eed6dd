"""cvt and cvta: between integers, floats of every width, and address spaces."""

from collections.abc import Callable

from judge.backends.cpu.addresses import MODULE_SLOT, SLOT_SHIFT, SPACE_SLOTS, slot_base
from judge.backends.cpu.ir import WIDTHS, Instruction
from judge.backends.cpu.lowering.context import Lowering
from judge.backends.cpu.lowering.floats import (
    directed,
    flush,
    is_float_type,
    join,
    make_odd,
    narrow,
    relu,
    saturate,
    two_sum,
    widen,
)
from judge.backends.cpu.lowering.moves import storage_elem
from judge.backends.cpu.lowering.values import Value, const_float, const_int, int_elem, vtype

_TO_INTEGER = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
_FP8 = {"e4m3x2", "e5m2x2"}


def convert(lw: Lowering, instruction: Instruction) -> None:
    if "pack" in instruction.modifiers:
        return _pack_integers(lw, instruction)
    target, source = instruction.types[0], instruction.types[-1]
    if target in _FP8 or source in _FP8:
        return _convert_fp8(lw, instruction, target, source)
    if target in ("f16x2", "bf16x2"):
        return _convert_pair(lw, instruction, target)
    if target == "tf32":
        return lw.write(instruction.destinations[0], _tf32(lw, instruction))
    if is_float_type(source):
        value = lw.read(instruction.sources[0], storage_elem(source))
        result = _from_float(lw, instruction, value, source, target)
        return lw.write(instruction.destinations[0], result, signed=target.startswith("s"))
    value = lw.read(instruction.sources[0], int_elem(WIDTHS[source]), signed=source.startswith("s"))
    if is_float_type(target):
        return lw.write(instruction.destinations[0], _from_integer(lw, instruction, value, source, target))
    return lw.write(
        instruction.destinations[0],
        _between_integers(lw, instruction, value, source, target),
        signed=target.startswith("s"),
    )


def _between_integers(lw: Lowering, instruction: Instruction, value: Value, source: str, target: str) -> Value:
    signed = source.startswith("s")
    if "sat" in instruction.modifiers:
        value = _clamp(lw, value, source, target)
    return lw.b.resize(value, int_elem(WIDTHS[target]), signed)


def _clamp(lw: Lowering, value: Value, source: str, target: str) -> Value:
    signed_source, signed_target = source.startswith("s"), target.startswith("s")
    low = -(1 << (WIDTHS[target] - 1)) if signed_target else 0
    high = (1 << (WIDTHS[target] - signed_target)) - 1
    source_low = -(1 << (WIDTHS[source] - 1)) if signed_source else 0
    source_high = (1 << (WIDTHS[source] - signed_source)) - 1
    prefix = "s" if signed_source else "u"
    if high < source_high:
        value = lw.b.intrinsic(prefix + "min", value, const_int(high, value.elem))
    if low > source_low:
        value = lw.b.intrinsic(prefix + "max", value, const_int(low, value.elem))
    return value


def _from_integer(lw: Lowering, instruction: Instruction, value: Value, source: str, target: str) -> Value:
    b = lw.b
    mode = next((m for m in instruction.modifiers if m in ("rz", "rm", "rp")), None)
    if target in ("f16", "bf16"):
        return _round_half(lw, _odd_double(lw, value, source), target, mode)
    op = "sitofp" if source.startswith("s") else "uitofp"
    elem = storage_elem(target)
    result = b.cast(op, value, elem) if mode is None else directed(lw, op, mode, value, elem=elem)
    return saturate(lw, result) if "sat" in instruction.modifiers else result


def _exact_sum(lw: Lowering, value: Value, source: str) -> tuple[Value, Value]:
    """An integer as a double rounded to nearest, and what the rounding lost: its halves are exact doubles."""
    b = lw.b
    signed = source.startswith("s")
    wide = b.resize(value, "i64", signed)
    upper = b.binary("ashr" if signed else "lshr", wide, const_int(32, "i64"))
    lower = b.cast("uitofp", b.binary("and", wide, const_int(0xFFFFFFFF, "i64")), "double")
    scaled = b.binary("fmul", b.cast("sitofp", upper, "double"), const_float(2.0**32, "double"))
    return two_sum(lw, scaled, lower)


def _odd_double(lw: Lowering, value: Value, source: str) -> Value:
    """An integer as a double rounded to odd: exact up to 53 bits."""
    if WIDTHS[source] < 64:
        return lw.b.cast("sitofp" if source.startswith("s") else "uitofp", value, "double")
    return make_odd(lw, *_exact_sum(lw, value, source))


def _round_half(lw: Lowering, value: Value, target: str, mode: str | None) -> Value:
    """A double (exact, or rounded to odd) as f16 or bf16."""
    if mode is None:
        return narrow(lw, value, target)
    return _directed_half(lw, value, target, mode)


def _directed_half(lw: Lowering, value: Value, target: str, mode: str) -> Value:
    """Rounded to nearest, then moved by what the rounding lost, on the 16-bit pattern."""
    b = lw.b
    near = _round_half(lw, value, target, None)
    back = b.cast("fpext", widen(lw, near, target), "double")
    lost = b.binary("fsub", value, back)
    zero = const_float(0.0, "double")
    positive = b.icmp("sge", near, const_int(0, "i16"))
    below, above = b.fcmp("olt", lost, zero), b.fcmp("ogt", lost, zero)
    if mode == "rz":
        condition = b.select(positive, below, above)
        outward = const_int(0, "i1")
    elif mode == "rm":
        condition, outward = below, b.binary("xor", positive, const_int(1, "i1"))
    else:
        condition, outward = above, positive
    step = b.select(outward, const_int(1, "i16"), const_int(-1, "i16"))
    return b.select(condition, b.binary("add", near, step), near)


def _from_float(lw: Lowering, instruction: Instruction, value: Value, source: str, target: str) -> Value:
    b = lw.b
    modifiers = instruction.modifiers
    wide = widen(lw, value, source)
    if "ftz" in modifiers and source == "f32":
        wide = flush(lw, wide)
    rounding = next((m for m in modifiers if m in _TO_INTEGER), None)
    if not is_float_type(target):
        return _to_integer(lw, wide, rounding or "rzi", target)
    if rounding is not None:
        wide = b.intrinsic(_TO_INTEGER[rounding], wide)
    mode = next((m for m in modifiers if m in ("rz", "rm", "rp")), None)
    if "sat" in modifiers:
        wide = saturate(lw, wide)
    if "relu" in modifiers:
        wide = relu(lw, wide)
    result = _to_float(lw, wide, target, mode)
    return flush(lw, result) if "ftz" in modifiers and target == "f32" else result


def _to_float(lw: Lowering, wide: Value, target: str, mode: str | None) -> Value:
    b = lw.b
    if target == "f64":
        return wide if wide.elem == "double" else b.cast("fpext", wide, "double")
    if target == "f32":
        if wide.elem == "float":
            return wide
        return b.cast("fptrunc", wide, "float") if mode is None else directed(lw, "fptrunc", mode, wide, elem="float")
    if mode is not None:
        return _directed_half(lw, wide if wide.elem == "double" else b.cast("fpext", wide, "double"), target, mode)
    return narrow(lw, wide, target)


def _to_integer(lw: Lowering, value: Value, rounding: str, target: str) -> Value:
    """Saturating; NaN gives 0, or the top bit alone from f64 and to 64 bits (PTX ISA, cvt)."""
    b = lw.b
    whole = b.intrinsic(_TO_INTEGER[rounding], value)
    signed = target.startswith("s")
    elem = int_elem(WIDTHS[target])
    name = f"fpto{'s' if signed else 'u'}i.sat.{'v32' if whole.vec else ''}{elem}"
    result = b.intrinsic(name, whole, elem=elem)
    if WIDTHS[target] == 64 or value.elem == "double":
        nan = b.fcmp("uno", value, value)
        result = b.select(nan, const_int(1 << (WIDTHS[target] - 1), elem), result)
    return result


def _tf32(lw: Lowering, instruction: Instruction) -> Value:
    """cvt.rna.tf32.f32: 10 bits of fraction kept, ties away from zero, in an f32's place."""
    b = lw.b
    bits = lw.read(instruction.sources[0], "i32")
    value = b.bitcast(bits, "float")
    if "rna" in instruction.modifiers:
        rounded = b.binary("add", bits, const_int(0x1000, "i32"))
    elif "rz" in instruction.modifiers:
        rounded = bits
    else:
        odd = b.binary("and", b.binary("lshr", bits, const_int(13, "i32")), const_int(1, "i32"))
        rounded = b.binary("add", b.binary("add", bits, const_int(0xFFF, "i32")), odd)
    finite = b.icmp("ult", b.binary("and", bits, const_int(0x7FFFFFFF, "i32")), const_int(0x7F800000, "i32"))
    kept = b.binary("and", rounded, const_int(0xFFFFE000, "i32"))
    result = b.select(finite, kept, b.select(b.fcmp("uno", value, value), const_int(0x7FFFFFFF, "i32"), bits))
    if "relu" in instruction.modifiers:
        result = b.bitcast(relu(lw, b.bitcast(result, "float")), "i32")
    return result


def _convert_pair(lw: Lowering, instruction: Instruction, target: str) -> None:
    """cvt.rn.f16x2.f32 d, a, b: a is the upper half."""
    scalar = target.removesuffix("x2")
    mode = next((m for m in instruction.modifiers if m in ("rz", "rm", "rp")), None)
    parts = []
    for source in instruction.sources[:2]:
        value = lw.read(source, "float")
        if "relu" in instruction.modifiers:
            value = relu(lw, value)
        parts.append(_to_float(lw, value, scalar, mode))
    lw.write(instruction.destinations[0], join(lw, parts[1], parts[0]))


def _pack_integers(lw: Lowering, instruction: Instruction) -> None:
    """cvt.pack.sat.TO.s32 d, a, b{, c}: a and b clamped side by side, c's low part above them."""
    b = lw.b
    target = instruction.types[0]
    bits = WIDTHS[target]
    low_mask = const_int((1 << bits) - 1, "i32")
    parts = []
    for source in instruction.sources[:2]:
        value = lw.read(source, "i32")
        parts.append(b.binary("and", _clamp(lw, value, "s32", target), low_mask))
    result = b.binary("or", parts[1], b.binary("shl", parts[0], const_int(bits, "i32")))
    if len(instruction.sources) > 2:
        above = b.binary("shl", lw.read(instruction.sources[2], "i32"), const_int(2 * bits, "i32"))
        result = b.binary("or", result, above)
    lw.write(instruction.destinations[0], result)


def _convert_fp8(lw: Lowering, instruction: Instruction, target: str, source: str) -> None:
    """fp8 pairs, a lane at a time through tables and the runtime's encoder."""
    b = lw.b
    if source in _FP8:
        packed = lw.read(instruction.sources[0], "i16")
        kind = 0 if source == "e4m3x2" else 1
        parts = []
        for position in (0, 8):
            byte = b.resize(b.binary("lshr", packed, const_int(position, "i16")), "i8")
            parts.append(_call_lanes(lw, "judge_fp8_decode", b.resize(byte, "i32"), kind, "i32"))
        if target != "f16x2":
            raise lw.refuse(instruction)
        halves16 = [b.resize(p, "i16") for p in parts]
        if "relu" in instruction.modifiers:
            halves16 = [narrow(lw, relu(lw, widen(lw, h, "f16")), "f16") for h in halves16]
        return lw.write(instruction.destinations[0], join(lw, *halves16))
    kind = 0 if target == "e4m3x2" else 1
    if source == "f32":
        values = [lw.read(s, "float") for s in instruction.sources[:2]]
    elif source == "f16x2":
        from judge.backends.cpu.lowering.floats import halves

        low, high = halves(lw, instruction.sources[0])
        values = [widen(lw, high, "f16"), widen(lw, low, "f16")]
    else:
        raise lw.refuse(instruction)
    if "relu" in instruction.modifiers:
        values = [relu(lw, v) for v in values]
    encoded = [_call_lanes(lw, "judge_fp8_encode", b.bitcast(v, "i32"), kind, "i32") for v in values]
    packed16 = b.binary("or", encoded[1], b.binary("shl", encoded[0], const_int(8, "i32")))
    return lw.write(instruction.destinations[0], b.resize(packed16, "i16"))


def _call_lanes(lw: Lowering, name: str, value: Value, kind: int, elem: str) -> Value:
    vector = lw.b.splat(value)
    result = Value(lw.b.call(vtype(elem, True), name, vector.typed, f"i32 {kind}"), elem, True)
    return result if value.vec else lw.b.assign(f"extractelement {result.typed}, i64 0", elem)


def convert_address(lw: Lowering, instruction: Instruction) -> None:
    """cvta: a space address to a generic one; cvta.to: back."""
    space = next(m.split("::")[0] for m in instruction.modifiers if m.split("::")[0] in SPACE_SLOTS)
    value = lw.read(instruction.sources[0], "i64")
    if space == "global":
        return lw.write(instruction.destinations[0], value)
    base = const_int(slot_base(SPACE_SLOTS[space]), "i64")
    op = "sub" if "to" in instruction.modifiers else "add"
    return lw.write(instruction.destinations[0], lw.b.binary(op, value, base))


def is_space(lw: Lowering, instruction: Instruction) -> None:
    space = next(m.split("::")[0] for m in instruction.modifiers if m.split("::")[0] in SPACE_SLOTS)
    address = lw.read(instruction.sources[0], "i64")
    slot = lw.b.binary("lshr", address, const_int(SLOT_SHIFT, "i64"))
    if space == "global":
        result = lw.b.icmp("uge", slot, const_int(MODULE_SLOT, "i64"))
    else:
        result = lw.b.icmp("eq", slot, const_int(SPACE_SLOTS[space], "i64"))
    lw.write(instruction.destinations[0], result)


OPERATIONS: dict[str, Callable[[Lowering, Instruction], None]] = {
    "cvt": convert,
    "cvta": convert_address,
    "isspacep": is_space,
}
