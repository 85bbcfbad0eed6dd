"""mma.sync, ldmatrix, stmatrix and movmatrix.

A register of 32 lanes is a row-major 8 x 4 tile of 32-bit (or 64-bit) cells, that is 8 x 8 halves or
8 x 16 bytes: stored to memory it needs no rearranging as a tile of A, and a transposition as a
tile of B. So mma stores its registers, one function of the module multiplies, and the result is
loaded. Every form is warp-wide: lanes that are missing are reported, and the rest goes on.
"""

from collections.abc import Callable, Sequence

from judge.backends.cpu.fragments import LANES, Product, product_form
from judge.backends.cpu.ir import Address, Instruction, Operand, Vector
from judge.backends.cpu.lowering.context import Lowering
from judge.backends.cpu.lowering.layout import EventKind, State
from judge.backends.cpu.lowering.matrix_text import (
    Extent,
    Text,
    product,
    product_name,
    stored_bits,
    sum_bytes,
    sum_elem,
)
from judge.backends.cpu.lowering.memory_ops import generic_address
from judge.backends.cpu.lowering.patterns import READ, WRITE, note_access
from judge.backends.cpu.lowering.uniformity import SHARED
from judge.backends.cpu.lowering.values import Value, const_int
from judge.backends.cpu.refusal import NotEmulatedError

ROW_BYTES = 16
"""A row of the 8 x 8 matrices of ldmatrix and stmatrix, to which one lane points."""

COLUMNS = 8
"""Columns of B and C in every shape of mma."""


def require_whole_warp(lw: Lowering) -> str:
    """Report lanes that do not come to a warp-wide instruction; the mask of those that did."""
    b = lw.b
    _, mask = lw.active()
    if lw.watch:
        b.call("void", "judge_tick_warp", "ptr %ctx", "ptr %st", f"i64 {int(State.COLLECTIVE32)}")
    name = b.fresh()[1:]
    b.emit(f"switch i32 {mask}, label %part_{name} [ i32 -1, label %go_{name} i32 0, label %go_{name} ]")
    b.label(f"part_{name}")
    wide = b.resize(Value(mask, "i32"), "i64")
    arguments = f"i32 {int(EventKind.PARTIAL_WARP)}, i32 {lw.index}, i32 {mask}, i64 0, i32 0"
    b.call("void", "judge_fault", "ptr %ctx", "ptr %st", arguments, f"{wide.typed}, i64 0, i64 0")
    b.emit(f"br label %go_{name}")
    b.label(f"go_{name}")
    return mask


def elements_of(operand: Operand | None) -> Sequence[Operand | None]:
    return operand.elements if isinstance(operand, Vector) else (operand,)


def store_registers(lw: Lowering, operands: Sequence[Operand | None], bits: int, buffer: str, offset: int) -> int:
    """Store registers one after another, 32 lanes each; the offset behind them."""
    for operand in operands:
        value = lw.b.splat(lw.read(operand, f"i{bits}"))
        lw.b.store(lw.b.offset(buffer, offset), value, align=64)
        offset += LANES * bits // 8
    return offset


def load_registers(lw: Lowering, targets: Sequence[Operand | None], bits: int, buffer: str) -> None:
    for number, target in enumerate(targets):
        pointer = lw.b.offset(buffer, number * LANES * bits // 8)
        lw.write(target, lw.b.load(pointer, f"i{bits}", True, align=64))


def check_count(instruction: Instruction, operand: Operand | None, wanted: int) -> None:
    """NVRTC does not look into inline asm: a list of the wrong length ends here."""
    found = len(elements_of(operand))
    if found != wanted:
        raise NotEmulatedError(f"{instruction.form} with {found} registers where {wanted} belong")


def mma(lw: Lowering, instruction: Instruction) -> None:
    form = product_form(instruction.opcode, instruction.modifiers, instruction.types)
    if form is None:
        raise lw.refuse(instruction)
    _, b = lw.active(), lw.b
    require_whole_warp(lw)
    operands = [instruction.sources[k] for k in range(3)]
    bits = [_register_bits(t) for t in (form.a, form.b, form.c, form.d)]
    for operand, count in zip((*operands, instruction.destinations[0]), _register_counts(form), strict=True):
        check_count(instruction, operand, count)
    total = sum(n * LANES * w // 8 for n, w in zip(_register_counts(form), bits, strict=True))
    buffer = lw.scratch(total)
    offset = 0
    for operand, width in zip(operands, bits[:3], strict=True):
        offset = store_registers(lw, elements_of(operand), width, buffer, offset)
    name = _mma_function(lw, form, "satfinite" in instruction.modifiers)
    b.call("void", name, f"ptr {buffer}", f"ptr {b.offset(buffer, offset)}")
    load_registers(lw, elements_of(instruction.destinations[0]), bits[3], b.offset(buffer, offset))


def _register_bits(type_: str) -> int:
    return max(stored_bits(type_), 32)


def _register_counts(form: Product) -> list[int]:
    """Registers a lane of a, b, c and d."""
    shape = form.shape
    return [
        shape.of(o)[0] * shape.of(o)[1] * stored_bits(t) // LANES // _register_bits(t)
        for o, t in (("a", form.a), ("b", form.b), ("c", form.c), ("d", form.d))
    ]


def _mma_function(lw: Lowering, form: Product, saturates: bool) -> str:
    """void (ptr registers of a, b and c, ptr registers of d)."""
    shape = form.shape
    kind = f"m{shape.m}n{shape.n}k{shape.k}_{form.a}_{form.b}_{form.c}_{form.d}"
    name = f"judge_mma_{kind}{'_satfinite' if saturates else ''}"
    if name in lw.functions:
        return name
    elem, size = sum_elem(form.a), sum_bytes(form.a)
    text = Text()
    for operand in "abc":
        rows, columns = shape.of(operand)
        text.do(f"%{operand} = alloca [{rows * columns} x {elem}], align 64")
    offset = _read_tiles_a(text, form, size, elem)
    offset = _read_tiles_b(text, form, size, elem, offset)
    per_cell = max(32 // stored_bits(form.a), 1)
    _read_sums(text, form, size, offset)
    extent = Extent(shape.m, shape.n, shape.k, 4 * per_cell)
    multiply(lw, text, elem, extent, saturates and elem == "i32")
    _write_sums(text, form, size)
    text.do("ret void")
    lw.functions[name] = text.function(f"void @{name}(ptr %in, ptr %out)")
    return name


def multiply(lw: Lowering, text: Text, elem: str, extent: Extent, saturates: bool) -> None:
    """c += a * b by the module's function for it; saturating: the exact sum is clamped to an int32."""
    function, declarations = product(elem, extent)
    lw.functions.setdefault(product_name(elem, extent), function)
    lw.b.declarations.update(declarations)
    if not saturates:
        text.do(f"call void @{product_name(elem, extent)}(ptr %a, ptr %b, ptr %c)")
        return
    cells = extent.m * extent.n
    vector = f"<{cells} x i32>"
    text.do(f"%sums = alloca {vector}, align 64")
    text.store(vector, "zeroinitializer", "%sums")
    text.do(f"call void @{product_name(elem, extent)}(ptr %a, ptr %b, ptr %sums)")
    lw.b.declarations.add(f"declare {vector} @llvm.sadd.sat.v{cells}i32({vector}, {vector})")
    added = f"{vector} {text.load(vector, '%sums')}, {vector} {text.load(vector, '%c')}"
    text.store(vector, text.let(f"call {vector} @llvm.sadd.sat.v{cells}i32({added})"), "%c")


def _read_tiles_a(text: Text, form: Product, size: int, elem: str) -> int:
    """Register r is the tile of rows 8 (r mod halves) and the columns after 4 (r div halves) cells."""
    bits = stored_bits(form.a)
    count = LANES * max(32 // bits, 1)
    halves = form.shape.m // 8
    for register in range(_register_counts(form)[0]):
        stored = text.load(f"<{count} x i{bits}>", "%in", register * count * bits // 8)
        values = text.widen(stored, count, form.a)
        block, half = divmod(register, halves)
        text.store(f"<{count} x {elem}>", values, "%a", (block * halves + half) * count * size)
    return _register_counts(form)[0] * count * bits // 8


def _read_tiles_b(text: Text, form: Product, size: int, elem: str, offset: int) -> int:
    """Register r holds B's rows after 4 r cells, column by column."""
    bits = stored_bits(form.b)
    count = LANES * max(32 // bits, 1)
    rows = count // COLUMNS
    turned = [column * rows + row for row in range(rows) for column in range(COLUMNS)]
    vector = f"<{count} x i{bits}>"
    for register in range(_register_counts(form)[1]):
        stored = text.load(vector, "%in", offset + register * count * bits // 8)
        values = text.widen(text.shuffle(vector, stored, "poison", turned), count, form.b)
        text.store(f"<{count} x {elem}>", values, "%b", register * count * size)
    return offset + _register_counts(form)[1] * count * bits // 8


def _read_sums(text: Text, form: Product, size: int, offset: int) -> None:
    """C as an m x 8 matrix: a half of 8 rows is one register of f16 pairs or two of single columns."""
    bits = stored_bits(form.c)
    cells = 8 * COLUMNS
    elem = sum_elem(form.c)
    for half in range(form.shape.m // 8):
        start = offset + half * cells * bits // 8
        if bits == 16:
            stored = text.load(f"<{cells} x i16>", "%in", start)
            values = text.widen(stored, cells, form.c)
        else:
            vector = f"<{LANES} x {elem}>"
            even, odd = (text.load(vector, "%in", start + k * LANES * bits // 8) for k in range(2))
            values = text.shuffle(vector, even, odd, [place for lane in range(LANES) for place in (lane, LANES + lane)])
        text.store(f"<{cells} x {elem}>", values, "%c", half * cells * size)


def _write_sums(text: Text, form: Product, size: int) -> None:
    bits = stored_bits(form.d)
    cells = 8 * COLUMNS
    elem = sum_elem(form.d)
    vector = f"<{cells} x {elem}>"
    for half in range(form.shape.m // 8):
        values = text.load(vector, "%c", half * cells * size)
        start = half * cells * bits // 8
        if bits == 16:
            narrow = text.let(f"fptrunc {vector} {values} to <{cells} x half>")
            text.store(f"<{cells} x half>", narrow, "%out", start)
            continue
        for parity in range(2):
            column = text.shuffle(vector, values, "poison", list(range(parity, cells, 2)))
            text.store(f"<{LANES} x {elem}>", column, "%out", start + parity * LANES * bits // 8)


# 8 x 8 matrices of halves ----------------------------------------------------------------------


def _matrix_count(instruction: Instruction) -> int:
    if instruction.types != ("b16",) or "m8n8" not in instruction.modifiers:
        raise NotEmulatedError(instruction.form)
    return next((n for m, n in (("x1", 1), ("x2", 2), ("x4", 4)) if m in instruction.modifiers), 1)


_TURNED = [column * 8 + row for row in range(8) for column in range(8)]


def _transposed(lw: Lowering, cells: Value) -> Value:
    """A register of 32 lanes, seen as 8 x 8 halves, transposed."""
    b = lw.b
    halves = b.assign(f"bitcast {cells.typed} to <64 x i16>", "i16")
    places = ", ".join(f"i32 {p}" for p in _TURNED)
    turned = b.assign(f"shufflevector <64 x i16> {halves.text}, <64 x i16> poison, <64 x i32> <{places}>", "i16")
    return b.assign(f"bitcast <64 x i16> {turned.text} to <32 x i32>", "i32", True)


def _rows_call(lw: Lowering, instruction: Instruction, address: Operand, count: int, mask: str, buffer: str) -> None:
    """Copy the rows that the first 8 * count lanes point to into the buffer, or out of it."""
    if not isinstance(address, Address):
        raise lw.refuse(instruction)
    pointer = lw.b.splat(generic_address(lw, instruction, address))
    rows = lw.b.binary("and", Value(mask, "i32"), const_int((1 << 8 * count) - 1, "i32"))
    what = READ if instruction.opcode == "ldmatrix" else WRITE
    note_access(lw, pointer, SHARED, ROW_BYTES, what, rows.text)
    lw.b.call(
        "void",
        "judge_rows_read" if instruction.opcode == "ldmatrix" else "judge_rows_write",
        "ptr %ctx",
        "ptr %st",
        pointer.typed,
        rows.typed,
        f"i32 {lw.index}",
        f"ptr {buffer}",
    )


def load_matrix(lw: Lowering, instruction: Instruction) -> None:
    """ldmatrix: 8 rows of 16 bytes are a register of 32 lanes as they lie in memory."""
    count = _matrix_count(instruction)
    check_count(instruction, instruction.destinations[0], count)
    mask = require_whole_warp(lw)
    buffer = lw.scratch()
    _rows_call(lw, instruction, instruction.sources[0], count, mask, buffer)
    for number, target in enumerate(elements_of(instruction.destinations[0])):
        cells = lw.b.load(lw.b.offset(buffer, 128 * number), "i32", True, align=64)
        lw.write(target, _transposed(lw, cells) if "trans" in instruction.modifiers else cells)


def store_matrix(lw: Lowering, instruction: Instruction) -> None:
    count = _matrix_count(instruction)
    address, fragment = (*instruction.destinations, *instruction.sources)[:2]
    check_count(instruction, fragment, count)
    mask = require_whole_warp(lw)
    buffer = lw.scratch()
    for number, element in enumerate(elements_of(fragment)):
        cells = lw.b.splat(lw.read(element, "i32"))
        if "trans" in instruction.modifiers:
            cells = _transposed(lw, cells)
        lw.b.store(lw.b.offset(buffer, 128 * number), cells, align=64)
    assert address is not None
    _rows_call(lw, instruction, address, count, mask, buffer)


def move_matrix(lw: Lowering, instruction: Instruction) -> None:
    require_whole_warp(lw)
    lw.write(instruction.destinations[0], _transposed(lw, lw.b.splat(lw.read(instruction.sources[0], "i32"))))


OPERATIONS: dict[str, Callable[[Lowering, Instruction], None]] = {
    "mma": mma,
    "ldmatrix": load_matrix,
    "stmatrix": store_matrix,
    "movmatrix": move_matrix,
}
