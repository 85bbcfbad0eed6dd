"""mov, selp, slct, setp, set, and the packing forms of mov."""

from collections.abc import Callable

from judge.backends.cpu.ir import WIDTHS, Immediate, Instruction, Operand, Vector
from judge.backends.cpu.lowering.context import Lowering
from judge.backends.cpu.lowering.floats import flush, flush_half, halves, is_float_type, join, widen
from judge.backends.cpu.lowering.values import Value, const_float, const_int, float_elem, int_elem

_ELEMS = {"f16": "i16", "bf16": "i16", "f32": "float", "f64": "double", "pred": "i1"}
_SIGNED = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge", "eq": "eq", "ne": "ne"}
_UNSIGNED = {"lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge", "lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}
_FLOAT = {
    "eq": "oeq",
    "ne": "one",
    "lt": "olt",
    "le": "ole",
    "gt": "ogt",
    "ge": "oge",
    "equ": "ueq",
    "neu": "une",
    "ltu": "ult",
    "leu": "ule",
    "gtu": "ugt",
    "geu": "uge",
    "num": "ord",
    "nan": "uno",
}
COMPARISONS = set(_FLOAT) | set(_UNSIGNED)


def storage_elem(type_: str) -> str:
    """The element type a PTX type is moved in."""
    return _ELEMS.get(type_, int_elem(max(WIDTHS[type_], 8)))


def move(lw: Lowering, instruction: Instruction) -> None:
    elem = storage_elem(instruction.types[-1]) if instruction.types else "i32"
    destination, source = instruction.destinations[0], instruction.sources[0]
    if isinstance(source, Vector) and not isinstance(destination, Vector):
        return lw.write(destination, _pack(lw, source, WIDTHS[instruction.types[-1]]))
    if isinstance(destination, Vector):
        return _unpack(lw, destination, source, WIDTHS[instruction.types[-1]])
    value = lw.raw(source, elem)
    if isinstance(source, Immediate) and value.elem != elem:
        value = lw.read(source, elem)
    return lw.write(destination, value)


def _pack(lw: Lowering, vector: Vector, bits: int) -> Value:
    part = bits // len(vector.elements)
    whole = int_elem(bits)
    result = const_int(0, whole)
    for position, element in enumerate(vector.elements):
        piece = lw.b.resize(lw.read(element, int_elem(part)), whole)
        result = lw.b.binary("or", result, lw.b.binary("shl", piece, const_int(part * position, whole)))
    return result


def _unpack(lw: Lowering, vector: Vector, source: Operand, bits: int) -> None:
    if isinstance(source, Vector):
        values = [lw.read(e, int_elem(bits // len(source.elements))) for e in source.elements]
        for element, value in zip(vector.elements, values, strict=True):
            lw.write(element, value)
        return
    part = bits // len(vector.elements)
    whole = lw.read(source, int_elem(bits))
    pieces = [
        lw.b.resize(lw.b.binary("lshr", whole, const_int(part * position, whole.elem)), int_elem(part))
        for position in range(len(vector.elements))
    ]
    for element, piece in zip(vector.elements, pieces, strict=True):
        lw.write(element, piece)


def select(lw: Lowering, instruction: Instruction) -> None:
    elem = storage_elem(instruction.types[-1])
    a, b = (lw.read(s, elem) for s in instruction.sources[:2])
    lw.write(instruction.destinations[0], lw.b.select(lw.read(instruction.sources[2], "i1"), a, b))


def select_by_sign(lw: Lowering, instruction: Instruction) -> None:
    """slct: a when c >= 0, else b."""
    elem = storage_elem(instruction.types[0])
    a, b = (lw.read(s, elem) for s in instruction.sources[:2])
    if instruction.types[1] == "f32":
        c = lw.read(instruction.sources[2], "float")
        if "ftz" in instruction.modifiers:
            c = flush(lw, c)
        condition = lw.b.fcmp("oge", c, const_float(0.0))
    else:
        condition = lw.b.icmp("sge", lw.read(instruction.sources[2], "i32"), const_int(0, "i32"))
    lw.write(instruction.destinations[0], lw.b.select(condition, a, b))


def compare(lw: Lowering, comparison: str, type_: str, sources: tuple[Operand, ...], *, ftz: bool) -> Value:
    """The i1 result of one PTX comparison of a scalar type."""
    if is_float_type(type_):
        stored = [lw.read(s, storage_elem(type_)) for s in sources]
        if ftz and type_ == "f16":
            stored = [flush_half(lw, v) for v in stored]
        values = [widen(lw, v, type_) for v in stored]
        if ftz and type_ == "f32":
            values = [flush(lw, v) for v in values]
        return lw.b.fcmp(_FLOAT[comparison], *values)
    elem = int_elem(max(WIDTHS[type_], 8)) if type_ != "pred" else "i1"
    signed = type_.startswith("s")
    table = _SIGNED if signed or comparison in ("eq", "ne") else _UNSIGNED
    return lw.b.icmp(table[comparison], *(lw.read(s, elem, signed=signed) for s in sources))


def _comparison(instruction: Instruction) -> str:
    return next(m for m in instruction.modifiers if m in COMPARISONS)


def set_predicate(lw: Lowering, instruction: Instruction) -> None:
    """setp, with the combining forms .and, .or and .xor and two destinations."""
    type_ = instruction.types[-1]
    if type_ in ("f16x2", "bf16x2"):
        return _set_predicate_pair(lw, instruction, type_)
    ftz = "ftz" in instruction.modifiers
    result = compare(lw, _comparison(instruction), type_, instruction.sources[:2], ftz=ftz)
    inverse = lw.b.binary("xor", result, const_int(1, "i1"))
    results = [result, inverse]
    combine = next((m for m in instruction.modifiers if m in ("and", "or", "xor")), None)
    if combine and len(instruction.sources) > 2:
        other = lw.read(instruction.sources[2], "i1")
        results = [lw.b.binary(combine, r, other) for r in results]
    for destination, value in zip(instruction.destinations, results, strict=False):
        lw.write(destination, value)
    return None


def _set_predicate_pair(lw: Lowering, instruction: Instruction, type_: str) -> None:
    parts = _compare_pair(lw, instruction, type_)
    combine = next((m for m in instruction.modifiers if m in ("and", "or", "xor")), None)
    if combine and len(instruction.sources) > 2:
        other = lw.read(instruction.sources[2], "i1")
        parts = [lw.b.binary(combine, p, other) for p in parts]
    if len(instruction.destinations) == 1:
        parts = [lw.b.binary("and", *parts)]
    for destination, value in zip(instruction.destinations, parts, strict=True):
        lw.write(destination, value)


def _compare_pair(lw: Lowering, instruction: Instruction, type_: str) -> list[Value]:
    first, second = (halves(lw, s) for s in instruction.sources[:2])
    scalar = type_.removesuffix("x2")
    if "ftz" in instruction.modifiers and scalar == "f16":
        first, second = ((flush_half(lw, low), flush_half(lw, high)) for low, high in (first, second))
    predicate = _FLOAT[_comparison(instruction)]
    return [
        lw.b.fcmp(predicate, widen(lw, a, scalar), widen(lw, b, scalar)) for a, b in zip(first, second, strict=True)
    ]


def set_value(lw: Lowering, instruction: Instruction) -> None:
    """set: all ones (integers) or 1.0 (floats) where the comparison holds."""
    result_type, type_ = instruction.types[0], instruction.types[-1]
    if type_ in ("f16x2", "bf16x2"):
        parts = _compare_pair(lw, instruction, type_)
        truths = [_truth(lw, p, type_.removesuffix("x2") if result_type == type_ else "u16") for p in parts]
        return lw.write(instruction.destinations[0], join(lw, *truths))
    ftz = "ftz" in instruction.modifiers
    result = compare(lw, _comparison(instruction), type_, instruction.sources[:2], ftz=ftz)
    combine = next((m for m in instruction.modifiers if m in ("and", "or", "xor")), None)
    if combine and len(instruction.sources) > 2:
        result = lw.b.binary(combine, result, lw.read(instruction.sources[2], "i1"))
    return lw.write(instruction.destinations[0], _truth(lw, result, result_type))


def _truth(lw: Lowering, condition: Value, type_: str) -> Value:
    if type_ in ("f32", "f64"):
        elem = float_elem(WIDTHS[type_])
        return lw.b.select(condition, const_float(1.0, elem), const_float(0.0, elem))
    elem = int_elem(WIDTHS[type_])
    one = {"f16": 0x3C00, "bf16": 0x3F80}.get(type_, -1)
    return lw.b.select(condition, const_int(one, elem), const_int(0, elem))


OPERATIONS: dict[str, Callable[[Lowering, Instruction], None]] = {
    "mov": move,
    "selp": select,
    "slct": select_by_sign,
    "setp": set_predicate,
    "set": set_value,
}
