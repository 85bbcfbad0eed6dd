"""Register types an instruction accepts: what ptxas calls an arguments mismatch.

A row gives a letter for each destination and, after the bar, each source; the last letter repeats:
  t  the instruction's type        s  its second type        w  twice as wide as the type
  4  a 32-bit value                p  a predicate            .  anything
Loads, stores and conversions take registers wider than their type; everything else wants its width,
and integers and floats do not mix (untyped .b registers go with both).
"""

from judge.backends.cpu import ir
from judge.backends.cpu.ptx.memory_operands import value_fault, without_policy
from judge.backends.cpu.ptx.routine import Operand

_ROWS = {
    "t|t": "add addc sub subc div rem abs neg min max and or xor not cnot copysign fma sad sqrt rcp rsqrt sin cos lg2 "
    "ex2 tanh brev mul24 mad24 mul mad madc prmt shf",
    "t|t4": "shl shr szext",
    "t|tt44": "bfi",
    "t|t44": "bfe",
    "4|4": "dp4a dp2a bmsk",
    "t|ttp": "selp",
    "t|tts": "slct",
    "t|ssp": "set",
    "p|ttp": "setp",
    "p|t": "testp",
    "4|t": "popc clz bfind",
    "t|.t": "atom",
    "|.t": "red",
}
_BY_OPCODE = {opcode: row for row, opcodes in _ROWS.items() for opcode in opcodes.split()}
_WIDE = {"mul": "w|t", "mad": "w|ttw"}
_WIDENED = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
_AT_LEAST = frozenset({"ld", "ldu", "st", "cvt"})
_EXACT_MOVES = frozenset({"mov"})
_FLOATS = frozenset({"f16", "f16x2", "bf16", "bf16x2", "f32", "f64", "tf32"})


def row_of(opcode: str, modifiers: tuple[str, ...]) -> str:
    """The row for an instruction, "" when its registers are not checked."""
    if "wide" in modifiers:
        return _WIDE.get(opcode, "")
    if opcode == "lop3" and len(modifiers) == 1:
        return "4|4"
    return _BY_OPCODE.get(opcode, "")


def mismatch(
    opcode: str,
    modifiers: tuple[str, ...],
    destinations: "list[Operand | None]",
    sources: list[Operand],
) -> str:
    """Why an operand does not fit its instruction, "" when all do."""
    if opcode in ("bar", "barrier") and "warp" not in modifiers:
        return _count_mismatch(modifiers, sources)
    sources, fault = without_policy(opcode, modifiers, sources)
    fault = fault or value_fault(opcode, modifiers, destinations, sources)
    if fault:
        return fault
    types = [m for m in modifiers if m in ir.WIDTHS]
    if not types:
        return ""
    if opcode in _AT_LEAST or opcode in _EXACT_MOVES:
        return _transfer_mismatch(opcode, types, modifiers, destinations, sources)
    row = row_of(opcode, modifiers)
    if not row:
        return ""
    wanted, _, given = row.partition("|")
    mixed = len(types) > 1 and "s" not in row
    if mixed:
        return ""
    for letters, operands in ((wanted, destinations), (given, sources)):
        for index, operand in enumerate(operands):
            if letters and isinstance(operand, ir.Register):
                type_ = _type(letters[min(index, len(letters) - 1)], types)
                if type_ and not _fits(operand, type_):
                    return f"{operand.name} is a .{operand.type} register, not a .{type_} one"
    return ""


def _count_mismatch(modifiers: tuple[str, ...], sources: list[Operand]) -> str:
    """A barrier counts whole warps."""
    count = sources[1] if len(sources) > (2 if "red" in modifiers else 1) else None
    if isinstance(count, ir.Immediate) and count.value % 32:
        return f"the count of threads, {count.value}, is not a multiple of 32, the lanes of a warp"
    return ""


def _type(letter: str, types: list[str]) -> str:
    match letter:
        case "t":
            return types[0]
        case "s":
            return types[1] if len(types) > 1 else types[0]
        case "w":
            return _WIDENED.get(types[0], "")
        case "4":
            return "b32"
        case "p":
            return "pred"
        case _:
            return ""


def _fits(register: ir.Register, type_: str) -> bool:
    if register.bits != ir.WIDTHS[type_] or (register.type == "pred") != (type_ == "pred"):
        return False
    if type_[0] == "b" and type_ not in _FLOATS:
        return True
    if register.type[0] == "b" and register.type not in _FLOATS:
        return True
    return (register.type in _FLOATS) == (type_ in _FLOATS)


def _transfer_mismatch(
    opcode: str,
    types: list[str],
    modifiers: tuple[str, ...],
    destinations: "list[Operand | None]",
    sources: list[Operand],
) -> str:
    """Loads, stores, cvt and mov: by width alone; a vector of mov is as wide as all its elements."""
    lanes = next((int(m[1]) for m in modifiers if m in ("v2", "v4", "v8")), 0)
    for operands, type_ in ((destinations, types[0]), (sources, types[-1])):
        for operand in operands:
            if isinstance(operand, ir.Vector):
                if opcode == "mov" and not lanes:
                    fault = _packing(operand, type_)
                    if fault:
                        return fault
                    continue
                if len(operand.elements) != lanes:
                    return f"a vector of {len(operand.elements)} where there should be {lanes or 'one register'}"
                elements = [element for element in operand.elements if isinstance(element, ir.Register)]
            elif isinstance(operand, ir.Register):
                if lanes:
                    return f"{operand.name} is one register, not a vector of {lanes}"
                elements = [operand]
            else:
                continue
            for element in elements:
                pred = element.type == "pred"
                narrow = element.bits < ir.WIDTHS[type_]
                if pred != (type_ == "pred") or narrow or (opcode == "mov" and element.bits != ir.WIDTHS[type_]):
                    return f"{element.name} is a .{element.type} register, not a .{type_} one"
    return ""


def _packing(vector: ir.Vector, type_: str) -> str:
    """mov.b32 {lo, hi}: the elements share the bits of the whole evenly."""
    bits, rest = divmod(ir.WIDTHS[type_], len(vector.elements))
    wrong = [e for e in vector.elements if isinstance(e, ir.Register) and (e.bits != bits or e.type == "pred")]
    if rest or bits < 8 or wrong:
        return f"the elements of the vector do not make up {ir.WIDTHS[type_]} bits"
    return ""
