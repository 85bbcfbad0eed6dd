"""wmma.load, wmma.store and wmma.mma.

Element e of lane l is element 32 e + l of the row-major matrix (fragments.py), so registers of
32-bit elements lie in memory as the matrix does, and narrower ones come apart by shifts. A matrix
that lies wholly in one block of memory at a uniform address is copied line by line; everything
else goes through the checked loads and stores, a register of lanes at a time.
"""

from collections.abc import Callable
from dataclasses import dataclass

from judge.backends.cpu.addresses import FIRST_BUFFER_SLOT, LOCAL_SLOT, SLOT_SHIFT
from judge.backends.cpu.fragments import (
    LANES,
    WMMA_FORMS,
    Product,
    Shape,
    parse_shape,
    product_form,
    wmma_elements,
    wmma_place,
)
from judge.backends.cpu.ir import Address, Instruction, Operand
from judge.backends.cpu.lowering.context import Lowering
from judge.backends.cpu.lowering.matrix_ops import (
    check_count,
    elements_of,
    load_registers,
    multiply,
    require_whole_warp,
    store_registers,
)
from judge.backends.cpu.lowering.matrix_text import Extent, Text, stored_bits, sum_bytes, sum_elem
from judge.backends.cpu.lowering.memory_ops import generic_address
from judge.backends.cpu.lowering.runtime_watch import READS, WRITES
from judge.backends.cpu.lowering.values import const_int

_LOADED = ("f16", "bf16", "tf32", "s8", "u8", "f64", "f32", "s32")
_SHAPES = {shape for shapes, _ in WMMA_FORMS.values() for shape in shapes}


@dataclass(frozen=True)
class _Access:
    """A wmma.load or wmma.store: rows x columns elements of `bits`, lines along rows or columns."""

    shape: Shape
    operand: str
    bits: int
    by_rows: bool
    writes: bool

    @property
    def rows(self) -> int:
        return self.shape.of(self.operand)[0]

    @property
    def columns(self) -> int:
        return self.shape.of(self.operand)[1]

    @property
    def elements(self) -> int:
        return wmma_elements(self.shape, self.operand)

    @property
    def lines(self) -> int:
        return self.rows if self.by_rows else self.columns

    @property
    def line_elements(self) -> int:
        return self.columns if self.by_rows else self.rows

    @property
    def per_register(self) -> int:
        return max(32 // self.bits, 1)

    @property
    def registers(self) -> int:
        """Registers that hold elements; a list may be longer."""
        return -(-self.elements // self.per_register)

    @property
    def name(self) -> str:
        verb, layout = ("store" if self.writes else "load"), ("row" if self.by_rows else "col")
        return f"judge_wmma_{verb}_{self.rows}x{self.columns}_{self.bits}_{layout}"


def _access(lw: Lowering, instruction: Instruction) -> _Access:
    shape = next((m for m in instruction.modifiers if m in _SHAPES), None)
    type_ = instruction.types[-1]
    if shape is None or type_ not in _LOADED:
        raise lw.refuse(instruction)
    writes = instruction.modifiers[0] == "store"
    return _Access(
        parse_shape(shape), instruction.modifiers[1], stored_bits(type_), "row" in instruction.modifiers, writes
    )


def wmma(lw: Lowering, instruction: Instruction) -> None:
    match instruction.modifiers[0]:
        case "load":
            _load(lw, instruction)
        case "store":
            _store(lw, instruction)
        case _:
            _multiply(lw, instruction)


def _address_and_stride(
    lw: Lowering, instruction: Instruction, access: _Access, address: Operand | None, rest: list[Operand | None]
) -> str:
    """Arguments of an access function: lane addresses and elements between lines."""
    if not isinstance(address, Address):
        raise lw.refuse(instruction)
    b = lw.b
    pointer = b.splat(generic_address(lw, instruction, address))
    stride = lw.read(rest[0], "i32") if rest else const_int(access.line_elements, "i32")
    if stride.vec:
        first = b.assign(f"call i32 @llvm.cttz.i32(i32 {lw.active()[1]}, i1 false)", "i32")
        lane = b.binary("and", first, const_int(31, "i32"))
        stride = b.assign(f"extractelement {stride.typed}, i32 {lane.text}", "i32")
    return f"{pointer.typed}, {b.resize(stride, 'i64').typed}"


def _load(lw: Lowering, instruction: Instruction) -> None:
    access = _access(lw, instruction)
    targets = elements_of(instruction.destinations[0])
    if len(targets) < access.registers:
        check_count(instruction, instruction.destinations[0], access.registers)
    mask = require_whole_warp(lw)
    address, *rest = instruction.sources
    where = _address_and_stride(lw, instruction, access, address, list(rest))
    width = max(access.bits, 32)
    buffer = lw.scratch(access.registers * LANES * width // 8)
    _call(lw, access, where, mask, buffer)
    load_registers(lw, targets[: access.registers], width, buffer)
    for target in targets[access.registers :]:
        lw.write(target, lw.b.splat(const_int(0, f"i{width}")))


def _store(lw: Lowering, instruction: Instruction) -> None:
    access = _access(lw, instruction)
    operands = [o for o in (*instruction.destinations, *instruction.sources) if o is not None]
    address, fragment, *rest = operands
    check_count(instruction, fragment, access.registers)
    mask = require_whole_warp(lw)
    where = _address_and_stride(lw, instruction, access, address, list(rest))
    width = max(access.bits, 32)
    buffer = lw.scratch(access.registers * LANES * width // 8)
    store_registers(lw, elements_of(fragment), width, buffer, 0)
    _call(lw, access, where, mask, buffer)


def _call(lw: Lowering, access: _Access, where: str, mask: str, buffer: str) -> None:
    if access.name not in lw.functions:
        lw.functions[access.name] = _access_function(access)
    arguments = f"{where}, i32 {mask}, i32 {lw.index}, ptr {buffer}"
    lw.b.call("void", access.name, "ptr %ctx", "ptr %st", arguments)


def _access_function(access: _Access) -> str:
    """Between registers in a buffer and memory, by lines where all of the matrix is in one block."""
    text = Text()
    size = access.bits // 8
    cells = access.rows * access.columns
    text.do(f"%matrix = alloca [{cells} x i{access.bits}], align 64")
    if access.writes:
        _registers_to_matrix(text, access)
    first = text.let("extractelement <32 x i64> %addr, i64 0")
    one = text.let(f"insertelement <32 x i64> poison, i64 {first}, i64 0")
    all_ = text.let(f"shufflevector <32 x i64> {one}, <32 x i64> poison, <32 x i32> zeroinitializer")
    same = text.let(f"bitcast <32 x i1> {text.let(f'icmp eq <32 x i64> %addr, {all_}')} to i32")
    step = text.let(f"mul i64 %stride, {size}")
    last = text.let(f"add i64 {first}, {text.let(f'mul i64 {step}, {access.lines - 1}')}")
    length = access.line_elements * size
    write = "true" if access.writes else "false"
    slot, last_slot = (text.let(f"lshr i64 {a}, {SLOT_SHIFT}") for a in (first, last))
    tests = [
        text.let("icmp eq i32 %mask, -1"),
        text.let(f"icmp eq i32 {same}, -1"),
        text.let(f"icmp eq i64 {text.let(f'and i64 {first}, {size - 1}')}, 0"),
        text.let(f"icmp eq i64 {slot}, {last_slot}"),
        text.let(f"icmp ne i64 {slot}, {LOCAL_SLOT}"),
    ]
    host = ""
    for address in (first, last):
        resolved = text.let(
            f"call ptr @judge_resolve(ptr %ctx, ptr %st, i32 0, i64 {address}, i64 {length}, i1 {write})"
        )
        host = host or resolved
        tests.append(text.let(f"icmp ne ptr {resolved}, null"))
    fine = tests[0]
    for test in tests[1:]:
        fine = text.let(f"and i1 {fine}, {test}")
    text.do(f"br i1 {fine}, label %lines, label %lanes")
    _by_lines(text, access, first, step, slot, host)
    _by_lanes(text, access)
    text.label("done")
    if not access.writes:
        _matrix_to_registers(text, access)
    text.do("ret void")
    head = "ptr %ctx, ptr %st, <32 x i64> %addr, i64 %stride, i32 %mask, i32 %site, ptr %registers"
    return text.function(f"void @{access.name}({head})")


def _by_lines(text: Text, access: _Access, first: str, step: str, slot: str, host: str) -> None:
    """A line is watched as one access of one lane."""
    size = access.bits // 8
    length = access.line_elements * size
    text.label("lines")
    text.do(f"%is_buffer = icmp uge i64 {slot}, {FIRST_BUFFER_SLOT}")
    total = access.lines * length
    text.do(f"call void @judge_traffic(ptr %ctx, i64 {first}, i64 {total}, i64 {int(access.writes)})")
    text.do("br label %line")
    text.label("line")
    text.do("%n = phi i64 [ 0, %lines ], [ %n2, %line_end ]")
    text.do(f"%off = mul i64 %n, {step}")
    text.do(f"%place = getelementptr i8, ptr {host}, i64 %off")
    text.do(f"%from = add i64 {first}, %off")
    text.do(f"%reader0 = mul i64 %n, {access.line_elements}")
    text.do("%reader1 = trunc i64 %reader0 to i32")
    text.do("%reader = and i32 %reader1, 31")
    flags = WRITES if access.writes else READS
    watched = f"i32 %reader, i64 %from, i64 {length}, i32 %site, i32 {flags}"
    text.do(f"call void @judge_watch_any(ptr %ctx, ptr %st, {watched})")
    inner = size if not access.by_rows else length
    text.do(f"%own = mul i64 %n, {inner}")
    text.do("%mine = getelementptr i8, ptr %matrix, i64 %own")
    if access.by_rows:
        vector = f"<{access.line_elements} x i{access.bits}>"
        source, target = ("%mine", "%place") if access.writes else ("%place", "%mine")
        text.store(vector, text.load(vector, source, align=size), target, align=size)
    else:
        for k in range(access.line_elements):
            ends = (("%mine", k * access.columns * size), ("%place", k * size))
            (source, from_), (target, to) = ends if access.writes else ends[::-1]
            elem = f"i{access.bits}"
            text.store(elem, text.load(elem, source, from_, align=size), target, to, align=size)
    if access.writes:
        text.do("br label %line_end")
    else:
        text.do("br i1 %is_buffer, label %mark, label %line_end")
        text.label("mark")
        text.do(f"call void @judge_mark(ptr %ctx, i64 %from, i64 {length})")
        text.do("br label %line_end")
    text.label("line_end")
    text.do("%n2 = add i64 %n, 1")
    text.do(f"%more = icmp ult i64 %n2, {access.lines}")
    text.do("br i1 %more, label %line, label %done")


def _by_lanes(text: Text, access: _Access) -> None:
    """Element by element of the lanes, in the order the interpreter has."""
    bits, size = access.bits, access.bits // 8
    text.label("lanes")
    text.do("%str0 = insertelement <32 x i64> poison, i64 %stride, i64 0")
    text.do("%str = shufflevector <32 x i64> %str0, <32 x i64> poison, <32 x i32> zeroinitializer")
    for element in range(access.elements):
        places = [wmma_place(access.columns, lane, element) for lane in range(LANES)]
        line, inside = ([p[0] for p in places], [p[1] for p in places])
        if not access.by_rows:
            line, inside = inside, line
        far = text.let(f"mul <32 x i64> %str, {_constants(line)}")
        offset = text.let(f"add <32 x i64> {far}, {_constants(inside)}")
        address = text.let(f"add <32 x i64> %addr, {text.let(f'mul <32 x i64> {offset}, splat (i64 {size})')}")
        row = text.at("%matrix", element * LANES * size)
        common = f"ptr %ctx, ptr %st, <32 x i64> {address}"
        if access.writes:
            value = text.load(f"<32 x i{bits}>", row, align=size)
            text.do(f"call void @judge_store_{bits}({common}, <32 x i{bits}> {value}, i32 %mask, i32 %site)")
        else:
            value = text.let(f"call <32 x i{bits}> @judge_load_{bits}({common}, i32 %mask, i32 %site)")
            text.store(f"<32 x i{bits}>", value, row, align=size)
    text.do("br label %done")


def _constants(values: list[int]) -> str:
    return "<" + ", ".join(f"i64 {v}" for v in values) + ">"


def _registers_to_matrix(text: Text, access: _Access) -> None:
    unpack(text, "%registers", access.bits, access.elements, "%matrix")


def unpack(text: Text, source: str, bits: int, elements: int, target: str, convert: str = "") -> None:
    """Registers in a buffer to elements in matrix order; `convert` names the type to widen them from."""
    width = max(bits, 32)
    per = width // bits
    elem = sum_elem(convert) if convert else f"i{bits}"
    size = sum_bytes(convert) if convert else bits // 8
    for element in range(elements):
        register, part = divmod(element, per)
        cells = text.load(f"<32 x i{width}>", source, register * LANES * width // 8)
        if per > 1:
            shifted = text.let(f"lshr <32 x i32> {cells}, splat (i32 {bits * part})") if part else cells
            cells = text.let(f"trunc <32 x i32> {shifted} to <32 x i{bits}>")
        if convert:
            cells = text.widen(cells, LANES, convert)
        text.store(f"<32 x {elem}>", cells, target, element * LANES * size)


def _matrix_to_registers(text: Text, access: _Access) -> None:
    pack(text, "%matrix", access.bits, access.elements, "%registers")


def pack(text: Text, source: str, bits: int, elements: int, target: str) -> None:
    """Elements in matrix order to registers in a buffer."""
    width = max(bits, 32)
    per = width // bits
    for register in range(-(-elements // per)):
        total = ""
        for part in range(min(per, elements - register * per)):
            cells = text.load(f"<32 x i{bits}>", source, (register * per + part) * LANES * bits // 8)
            if per > 1:
                cells = text.let(f"zext <32 x i{bits}> {cells} to <32 x i32>")
            if part:
                cells = text.let(f"shl <32 x i32> {cells}, splat (i32 {bits * part})")
                cells = text.let(f"or <32 x i32> {total}, {cells}")
            total = cells
        text.store(f"<32 x i{width}>", total, target, register * LANES * width // 8)


def _multiply(lw: Lowering, instruction: Instruction) -> None:
    form = product_form(instruction.opcode, instruction.modifiers, instruction.types)
    if form is None:
        raise lw.refuse(instruction)
    require_whole_warp(lw)
    fragments = [_fragment(form, operand) for operand in "abcd"]
    sizes = [f.registers * LANES * max(f.bits, 32) // 8 for f in fragments]
    buffer = lw.scratch(sum(sizes))
    offset = 0
    for source, fragment in zip(instruction.sources, fragments, strict=False):
        elements = elements_of(source)
        if len(elements) < fragment.registers:
            check_count(instruction, source, fragment.registers)
        width = max(fragment.bits, 32)
        offset = store_registers(lw, elements[: fragment.registers], width, buffer, offset)
    result = fragments[3]
    check_count(instruction, instruction.destinations[0], result.registers)
    name = _product_function(lw, form, fragments, "satfinite" in instruction.modifiers and form.d == "s32")
    out = lw.b.offset(buffer, offset)
    lw.b.call("void", name, f"ptr {buffer}", f"ptr {out}")
    load_registers(lw, elements_of(instruction.destinations[0]), max(result.bits, 32), out)


def _fragment(form: Product, operand: str) -> _Access:
    type_ = {"a": form.a, "b": form.b, "c": form.c, "d": form.d}[operand]
    return _Access(form.shape, operand, stored_bits(type_), True, False)


def _product_function(lw: Lowering, form: Product, fragments: list[_Access], saturates: bool) -> str:
    """void (ptr registers of a, b and c, ptr registers of d)."""
    shape = form.shape
    kind = f"m{shape.m}n{shape.n}k{shape.k}_{form.a}_{form.b}_{form.c}_{form.d}"
    name = f"judge_wmma_{kind}{'_satfinite' if saturates else ''}"
    if name in lw.functions:
        return name
    text = Text()
    elem = sum_elem(form.a)
    offset = 0
    for operand, type_, fragment in zip("abc", (form.a, form.b, form.c), fragments, strict=False):
        text.do(f"%{operand} = alloca [{fragment.rows * fragment.columns} x {elem}], align 64")
        unpack(text, text.at("%in", offset), fragment.bits, fragment.elements, f"%{operand}", type_)
        offset += fragment.registers * LANES * max(fragment.bits, 32) // 8
    multiply(lw, text, elem, Extent(shape.m, shape.n, shape.k, shape.k), saturates)
    sums = "%c"
    if form.d == "f16":
        cells = shape.m * shape.n
        narrow = text.let(f"fptrunc <{cells} x float> {text.load(f'<{cells} x float>', '%c')} to <{cells} x half>")
        text.do(f"%rounded = alloca [{cells} x half], align 64")
        text.store(f"<{cells} x half>", narrow, "%rounded")
        sums = "%rounded"
    pack(text, sums, fragments[3].bits, fragments[3].elements, "%out")
    text.do("ret void")
    lw.functions[name] = text.function(f"void @{name}(ptr %in, ptr %out)")
    return name


OPERATIONS: dict[str, Callable[[Lowering, Instruction], None]] = {"wmma": wmma}
