"""Matrix instructions: ldmatrix, stmatrix, movmatrix, mma, wmma.

Products are summed in float64 and rounded once to the accumulator's type; hardware sums in an
order and width of its own, so floating-point results agree only within a tolerance.

All of them are instructions of the whole warp. One that part of it executes is reported; the lanes
that are there go on with what the registers of the others hold.
"""

import numpy as np

from judge.backends.cpu import ir
from judge.backends.cpu.events import Party
from judge.backends.cpu.fragments import (
    LANES,
    WMMA_FORMS,
    Product,
    Shape,
    mma_a,
    mma_b,
    mma_c,
    parse_shape,
    product_form,
    wmma_elements,
    wmma_place,
)
from judge.backends.cpu.interpreter.access import (
    access_space,
    address_of,
    from_bytes,
    read_bytes,
    store_operands,
    to_bytes,
    write_bytes,
)
from judge.backends.cpu.interpreter.integers import clamp
from judge.backends.cpu.interpreter.rounding import FORMATS, Floats, Raw, decode, encode, round_to
from judge.backends.cpu.interpreter.state import Step
from judge.backends.cpu.interpreter.table import executes
from judge.backends.cpu.refusal import NotEmulatedError
from judge.records import DiagnosisKind

_INTEGERS = ("s8", "u8", "s32")
_LOADED = ("f16", "bf16", "tf32", "s8", "u8", "f64", "f32", "s32")
_TF32_BITS = np.uint64(0xFFFF_E000)


def _shape(step: Step) -> Shape:
    """The shape of a wmma load or store."""
    shapes = {s for known, _ in WMMA_FORMS.values() for s in known}
    name = next((m for m in step.modifiers if m in shapes), None)
    if name is None or step.instruction.types[-1] not in _LOADED:
        raise NotEmulatedError(step.instruction.form)
    return parse_shape(name)


def _product(step: Step) -> Product:
    form = product_form(step.instruction.opcode, step.modifiers, step.instruction.types)
    if form is None:
        raise NotEmulatedError(step.instruction.form)
    return form


def _whole_warp(step: Step) -> Step:
    """The step as all 32 lanes would execute it; a missing lane is reported."""
    if step.lanes.size == LANES:
        return step
    missing = next(lane for lane in range(LANES) if lane not in step.lanes)
    step.report(
        DiagnosisKind.DIVERGENT_BARRIER,
        int(step.lanes[0]),
        other=Party(None, step.warp.cta.index, step.warp.thread_index(missing), "is elsewhere"),
        detail=f"{step.instruction.form} needs all {LANES} lanes of the warp",
    )
    return Step(step.warp, step.index, step.instruction, np.arange(LANES))


def _values(raw: Raw, type_: str) -> Floats:
    """Matrix elements as float64, which holds every one of them (and every int32) exactly."""
    if type_ in _INTEGERS:
        bits = np.uint64(64 - ir.WIDTHS[type_])
        wide = (raw << bits).view(np.int64) >> bits.view(np.int64) if type_[0] == "s" else raw
        return wide.astype(np.float64)
    if type_ == "tf32":
        raw = raw & _TF32_BITS  # a multiplier sees nothing below them
    return decode(raw, FORMATS[type_])


def _registers(step: Step, operand: ir.Operand, width: int = 32) -> list[Raw]:
    elements = operand.elements if isinstance(operand, ir.Vector) else (operand,)
    return [step.raw(e, f"b{width}") for e in elements if e is not None]


def _split(registers: list[Raw], type_: str) -> list[Floats]:
    """Elements of a register list, in order, each an array over the lanes."""
    bits = ir.WIDTHS[type_]
    mask = np.uint64((1 << bits) - 1)
    parts = range(max(32 // bits, 1))
    return [_values(register >> np.uint64(bits * part) & mask, type_) for register in registers for part in parts]


@executes("mma")
def mma(step: Step) -> None:
    """d = a * b + c with a in row and b in column order."""
    form = _product(step)
    shape = form.shape
    whole = _whole_warp(step)
    width = 64 if form.a == "f64" else 32
    per_register = max(32 // ir.WIDTHS[form.a], 1)
    a, b, c = (_registers(whole, s, width) for s in step.instruction.sources[:3])
    left, right = np.zeros(shape.of("a")), np.zeros(shape.of("b"))
    accumulator = np.zeros(shape.of("c"))
    for number, values in enumerate(_split(a, form.a)):
        for lane in range(LANES):
            left[mma_a(shape, per_register, lane, *divmod(number, per_register))] = values[lane]
    for number, values in enumerate(_split(b, form.b)):
        for lane in range(LANES):
            right[mma_b(per_register, lane, *divmod(number, per_register))] = values[lane]
    for number, values in enumerate(_split(c, form.c)):
        for lane in range(LANES):
            accumulator[mma_c(lane, number)] = values[lane]
    result = _multiply(step, left, right, accumulator, form.d)
    elements = shape.m * shape.n // LANES
    places = [[mma_c(lane, number) for lane in range(LANES)] for number in range(elements)]
    _write(step, step.instruction.destinations[0], form.d, [[result[p] for p in row] for row in places])


def _multiply(step: Step, left: Floats, right: Floats, accumulator: Floats, type_: str) -> Floats:
    total = left @ right + accumulator
    if type_ in _INTEGERS:
        return total
    return round_to(total, FORMATS[type_])


def _write(step: Step, destination: ir.Operand | None, type_: str, elements: list[list[float]]) -> None:
    """Write elements (outer: number in the lane, inner: all 32 lanes) into a list of registers."""
    if type_ in _INTEGERS:
        limit = (lambda v: clamp(v, type_)) if step.has("satfinite") else int
        mask = (1 << ir.WIDTHS[type_]) - 1
        codes = [np.array([limit(int(v)) & mask for v in row], dtype=np.uint64) for row in elements]
    else:
        codes = [encode(np.array(row, dtype=np.float64), FORMATS[type_]) for row in elements]
    _write_codes(step, destination, type_, [row[step.lanes] for row in codes])


def _write_codes(step: Step, destination: ir.Operand | None, type_: str, codes: list[Raw]) -> None:
    """The same with bit patterns, for the executing lanes. Registers past the last element become zero."""
    targets = destination.elements if isinstance(destination, ir.Vector) else (destination,)
    bits = ir.WIDTHS[type_]
    per_register = max(32 // bits, 1)
    for number, target in enumerate(targets):
        raw = np.zeros(step.lanes.size, dtype=np.uint64)
        for part in range(per_register):
            place = number * per_register + part
            if place < len(codes):
                raw |= codes[place] << np.uint64(bits * part)
        step.write_raw(target, f"b{max(bits, 32)}", raw)


@executes("wmma")
def wmma(step: Step) -> None:
    match step.modifiers[0]:
        case "load":
            _wmma_load(step)
        case "store":
            _wmma_store(step)
        case _:
            _wmma_mma(step)


def _memory_layout(step: Step, operand: str, shape: Shape, stride: int) -> list[list[int]]:
    """Element offset in memory of each (element in the lane, executing lane)."""
    columns = shape.of(operand)[1]
    offsets = []
    for element in range(wmma_elements(shape, operand)):
        places = [wmma_place(columns, lane, element) for lane in step.lanes.tolist()]
        offsets.append([r * stride + c if step.has("row") else c * stride + r for r, c in places])
    return offsets


def _stride(step: Step, sources: tuple[ir.Operand, ...], shape: Shape, operand: str) -> int:
    if sources:
        return step.integers(sources[0], "u32")[0]
    rows, columns = shape.of(operand)
    return columns if step.has("row") else rows


def _wmma_load(step: Step) -> None:
    """wmma.load.a.sync.aligned.row.m16n16k16.space.type registers, [address], stride."""
    operand, shape, type_ = step.modifiers[1], _shape(step), step.instruction.types[-1]
    _whole_warp(step)
    address, *rest = step.instruction.sources
    size = ir.WIDTHS[type_] // 8
    base = address_of(step, address)
    space = access_space(step, address)
    elements = []
    for offsets in _memory_layout(step, operand, shape, _stride(step, tuple(rest), shape, operand)):
        where = base + np.array([o * size for o in offsets], dtype=np.uint64)
        elements.append(from_bytes(read_bytes(step, space, where, size)))
    _write_codes(step, step.instruction.destinations[0], type_, elements)


def _wmma_store(step: Step) -> None:
    operand, shape, type_ = step.modifiers[1], _shape(step), step.instruction.types[-1]
    _whole_warp(step)
    address, fragment, *rest = (o for o in (*step.instruction.destinations, *step.instruction.sources) if o is not None)
    size = ir.WIDTHS[type_] // 8
    base = address_of(step, address)
    space = access_space(step, address)
    registers = _registers(step, fragment, max(ir.WIDTHS[type_], 32))
    per_register = max(32 // ir.WIDTHS[type_], 1)
    for number, offsets in enumerate(_memory_layout(step, operand, shape, _stride(step, tuple(rest), shape, operand))):
        register, part = divmod(number, per_register)
        raw = registers[register] >> np.uint64(ir.WIDTHS[type_] * part)
        where = base + np.array([o * size for o in offsets], dtype=np.uint64)
        write_bytes(step, space, where, to_bytes(raw, size))


def _matrix(registers: list[Raw], type_: str, shape: Shape, operand: str) -> Floats:
    columns, count = shape.of(operand)[1], wmma_elements(shape, operand)
    matrix = np.zeros(shape.of(operand))
    for number, values in enumerate(_split(registers, type_)[:count]):
        for lane in range(LANES):
            matrix[wmma_place(columns, lane, number)] = values[lane]
    return matrix


def _wmma_mma(step: Step) -> None:
    form = _product(step)
    shape = form.shape
    whole = _whole_warp(step)
    a, b, c = step.instruction.sources[:3]
    width = 64 if form.a == "f64" else 32
    left = _matrix(_registers(whole, a, width), form.a, shape, "a")
    right = _matrix(_registers(whole, b, width), form.b, shape, "b")
    accumulator = _matrix(_registers(whole, c, width), form.c, shape, "c")
    result = _multiply(step, left, right, accumulator, form.d)
    count = wmma_elements(shape, "d")
    elements = [[result[wmma_place(shape.n, lane, n)] for lane in range(LANES)] for n in range(count)]
    _write(step, step.instruction.destinations[0], form.d, elements)


def _matrix_count(step: Step) -> int:
    return next((n for m, n in (("x1", 1), ("x2", 2), ("x4", 4)) if step.has(m)), 1)


def _is_transposed(step: Step) -> bool:
    if step.instruction.types != ("b16",) or "m8n8" not in step.modifiers:
        raise NotEmulatedError(step.instruction.form)
    return step.has("trans")


@executes("ldmatrix")
def ldmatrix(step: Step) -> None:
    """Lanes 8i to 8i+7 give the row addresses of 8x8 matrix i; each lane gets two elements of a row (or column)."""
    transposed = _is_transposed(step)
    _whole_warp(step)
    address = step.instruction.sources[0]
    count = _matrix_count(step)
    rows = _row_step(step, count)
    data = np.zeros((8 * count, 16), dtype=np.uint8)
    data[rows.lanes] = read_bytes(rows, access_space(step, address), address_of(rows, address), 16)
    matrices = data.view(np.uint16).reshape(count, 8, 8)
    destination = step.instruction.destinations[0]
    targets = destination.elements if isinstance(destination, ir.Vector) else (destination,)
    for matrix, target in zip(matrices, targets, strict=True):
        step.write_raw(target, "b32", _pairs(matrix.T if transposed else matrix)[step.lanes])


def _row_step(step: Step, count: int) -> Step:
    """The lanes whose addresses count."""
    return Step(step.warp, step.index, step.instruction, step.lanes[step.lanes < 8 * count])


def _pairs(matrix: np.ndarray) -> Raw:
    """Two neighbors of a row a lane, the first in the low half."""
    pairs = matrix.reshape(LANES, 2).astype(np.uint64)
    packed: Raw = pairs[:, 0] | pairs[:, 1] << np.uint64(16)
    return packed


def _from_pairs(raw: Raw) -> np.ndarray:
    low, high = raw & np.uint64(0xFFFF), raw >> np.uint64(16) & np.uint64(0xFFFF)
    return np.stack([low, high], axis=1).reshape(8, 8).astype(np.uint16)


@executes("stmatrix")
def stmatrix(step: Step) -> None:
    transposed = _is_transposed(step)
    whole = _whole_warp(step)
    address, fragment = store_operands(step)
    count = _matrix_count(step)
    rows = _row_step(step, count)
    matrices = [_from_pairs(r) for r in _registers(whole, fragment)]
    data = np.concatenate([np.ascontiguousarray(m.T if transposed else m) for m in matrices])
    lines = data.view(np.uint8).reshape(8 * count, 16)[rows.lanes]
    write_bytes(rows, access_space(step, address), address_of(rows, address), lines)


@executes("movmatrix")
def movmatrix(step: Step) -> None:
    whole = _whole_warp(step)
    matrix = _from_pairs(whole.raw(step.instruction.sources[0], "b32"))
    step.write_raw(step.instruction.destinations[0], "b32", _pairs(np.ascontiguousarray(matrix.T))[step.lanes])
