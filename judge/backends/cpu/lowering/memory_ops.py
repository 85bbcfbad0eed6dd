"""ld, st, atom and red.

Every address becomes a generic one. A warp-uniform address is one scalar access; a thread-local
array at a uniform index is one row of 32 words; everything else goes through the runtime, which
checks each lane.
"""

from collections.abc import Callable

from judge.backends.cpu.addresses import SHARED_SLOT, SPACE_SLOTS, slot_base
from judge.backends.cpu.ir import WIDTHS, Address, Instruction, Register, Vector
from judge.backends.cpu.lowering.context import Lowering
from judge.backends.cpu.lowering.floats import is_float_type
from judge.backends.cpu.lowering.layout import Ctx
from judge.backends.cpu.lowering.local_rows import local_offset, local_row, local_written, note_local_writes
from judge.backends.cpu.lowering.patterns import ATOMIC, READ, WRITE, note_access
from judge.backends.cpu.lowering.runtime import VECTOR_FORMS
from judge.backends.cpu.lowering.runtime_watch import COMPARES, READS, WRITES
from judge.backends.cpu.lowering.uniformity import LOCAL, SHARED, address_spaces
from judge.backends.cpu.lowering.unset_ops import carry_unset, find_unset, plus
from judge.backends.cpu.lowering.values import Value, const_int, int_elem

_ATOMIC = {
    "add": "add",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "exch": "xchg",
    "inc": "uinc_wrap",
    "dec": "udec_wrap",
}


def state_space(instruction: Instruction) -> str:
    """The state space suffix, "" for a generic access."""
    for modifier in instruction.modifiers:
        name = modifier.split("::")[0]
        if name in SPACE_SLOTS:
            return name
    return ""


def generic_address(lw: Lowering, instruction: Instruction, address: Address) -> Value:
    space = state_space(instruction)
    value = lw.address_value(address)
    if not space and isinstance(address.base, Register | None):
        return value
    if not space:
        assert not isinstance(address.base, Register | None)
        space = address.base.space
    if space == "global":
        return value
    return lw.b.binary("add", value, const_int(slot_base(SPACE_SLOTS[space]), "i64"))


def _spaces(lw: Lowering, instruction: Instruction, address: Address) -> int:
    space = state_space(instruction)
    if space:
        return {"local": LOCAL, "shared": SHARED}.get(space, 1)
    return address_spaces(address, lw.uniformity.spaces)


def _shape(instruction: Instruction) -> tuple[str, int, int]:
    """(PTX element type, bits of an element, number of elements)."""
    type_ = instruction.types[-1]
    count = next((int(m[1:]) for m in instruction.modifiers if m in ("v2", "v4", "v8")), 1)
    return type_, WIDTHS[type_], count


def load(lw: Lowering, instruction: Instruction) -> None:
    type_, bits, count = _shape(instruction)
    address = instruction.sources[0]
    if not isinstance(address, Address):
        raise lw.refuse(instruction)
    destination = instruction.destinations[0]
    elements = destination.elements if isinstance(destination, Vector) else (destination,)
    if bits == 128:
        raise lw.refuse(instruction)
    lw.strong = is_strong(instruction)
    pointer = generic_address(lw, instruction, address)
    spaces = _spaces(lw, instruction, address)
    note_access(lw, pointer, spaces, bits // 8 * count, READ)
    if lw.index in lw.carried.loads:
        find_unset(lw, pointer, spaces, bits, count)
    values = _load_values(lw, pointer, spaces, bits, count)
    signed = type_.startswith("s")
    for element, value in zip(elements, values, strict=True):
        lw.write(element, value, signed=signed)


def _load_values(lw: Lowering, pointer: Value, spaces: int, bits: int, count: int) -> list[Value]:
    if not pointer.vec and not spaces & LOCAL and not _varying_guard(lw):
        _check_uniform_vector(lw, pointer, bits, count, write=False)
        return [_uniform_load(lw, plus(lw, pointer, k * bits // 8), spaces, bits) for k in range(count)]
    if not pointer.vec and spaces == LOCAL and bits >= 32 and lw.guard is None:
        return _local_load(lw, pointer, bits, count)
    return _lane_loads(lw, pointer, bits, count)


def _lane_loads(lw: Lowering, pointer: Value, bits: int, count: int) -> list[Value]:
    """Through the runtime, each lane checked."""
    if count > 1 and (bits, count) not in VECTOR_FORMS:
        return [_vector_load(lw, plus(lw, pointer, k * bits // 8), bits) for k in range(count)]
    if count > 1:
        return _vector_load_many(lw, pointer, bits, count)
    return [_vector_load(lw, pointer, bits)]


def is_strong(instruction: Instruction) -> bool:
    """Volatile, relaxed, acquiring or releasing: the PTX memory model's strong operations."""
    return any(m in ("volatile", "relaxed", "acquire", "release", "acq_rel", "mmio") for m in instruction.modifiers)


def _varying_guard(lw: Lowering) -> bool:
    return lw.guard is not None and lw.guard.vec


def _check_uniform_vector(lw: Lowering, pointer: Value, bits: int, count: int, *, write: bool) -> None:
    """A vector access must be aligned as a whole; its elements, accessed one by one, would not notice."""
    if count == 1:
        return
    _, mask = lw.active()
    arguments = f"i64 {pointer.text}, i32 {mask}, {lw.site}, i64 {count * bits // 8}, i32 {int(write)}"
    lw.b.call("void", "judge_uniform_vector", "ptr %ctx", "ptr %st", arguments)


def _uniform_load(lw: Lowering, pointer: Value, spaces: int, bits: int) -> Value:
    """One load for the warp. Shared memory, the hot case, is checked and read in place."""
    b = lw.b
    _, mask = lw.active()
    slow_arguments = f"i64 {pointer.text}, i32 {mask}, {lw.site}, i64 {bits // 8}"
    if spaces != SHARED or lw.guard is not None:
        whole = Value(b.call("i64", "judge_uniform_load", "ptr %ctx", "ptr %st", slow_arguments), "i64")
        return b.resize(whole, int_elem(bits))
    width = bits // 8
    offset = b.binary("sub", pointer, const_int(slot_base(SHARED_SLOT), "i64"))
    size = b.load(b.offset("%ctx", Ctx.SHARED_BYTES), "i64")
    end = b.binary("sub", size, const_int(width - 1, "i64"))
    inside = b.icmp("slt", offset, end)
    inside = b.binary("and", inside, b.icmp("sge", offset, const_int(0, "i64")))
    if width > 1:
        low = b.binary("and", offset, const_int(width - 1, "i64"))
        inside = b.binary("and", inside, b.icmp("eq", low, const_int(0, "i64")))
    name = b.fresh()[1:]
    b.emit(f"br i1 {inside.text}, label %fast_{name}, label %slow_{name}")
    b.label(f"fast_{name}")
    base = b.load(b.offset("%ctx", Ctx.SHARED), "ptr").text
    fast = b.load(b.offset(base, offset), int_elem(bits), align=width)
    if lw.watch:
        watched = f"i64 {pointer.text}, i64 {width}, i32 {mask}, {lw.site}"
        b.call("void", "judge_watch_uniform_read", "ptr %ctx", "ptr %st", watched)
    b.emit(f"br label %join_{name}")
    b.label(f"slow_{name}")
    whole = Value(b.call("i64", "judge_uniform_load", "ptr %ctx", "ptr %st", slow_arguments), "i64")
    slow = b.resize(whole, int_elem(bits))
    b.emit(f"br label %join_{name}")
    b.label(f"join_{name}")
    return b.assign(f"phi {fast.elem} [ {fast.text}, %fast_{name} ], [ {slow.text}, %slow_{name} ]", fast.elem)


def _local_load(lw: Lowering, pointer: Value, bits: int, count: int) -> list[Value]:
    """Rows of a thread-local array at a uniform index: one for each word of each element."""
    b = lw.b
    width = bits // 8
    offset, inside = local_offset(lw, pointer, width * count)
    name = b.fresh()[1:]
    if lw.watch and not lw.quiet:
        b.emit(f"br i1 {inside.text}, label %inside_{name}, label %slow_{name}")
        b.label(f"inside_{name}")
        inside = local_written(lw, offset, width * count)
    b.emit(f"br i1 {inside.text}, label %fast_{name}, label %slow_{name}")
    b.label(f"fast_{name}")
    row = local_row(lw, offset)
    fast = []
    for k in range(count):
        value = b.load(b.offset(row, 32 * width * k), "i32", True, align=64)
        if bits == 64:
            upper = b.load(b.offset(row, 32 * width * k + 128), "i32", True, align=64)
            high = b.binary("shl", b.resize(upper, "i64"), const_int(32, "i64"))
            value = b.binary("or", b.resize(value, "i64"), high)
        fast.append(value)
    b.emit(f"br label %join_{name}")
    b.label(f"slow_{name}")
    slow = _lane_loads(lw, pointer, bits, count)
    b.emit(f"br label %join_{name}")
    b.label(f"join_{name}")
    return [
        b.assign(f"phi {f.type} [ {f.text}, %fast_{name} ], [ {s.text}, %slow_{name} ]", f.elem, True)
        for f, s in zip(fast, slow, strict=True)
    ]


def _vector_load(lw: Lowering, pointer: Value, bits: int) -> Value:
    b = lw.b
    _, mask = lw.active()
    vector = b.splat(pointer)
    name = b.call(f"<32 x i{bits}>", f"judge_load_{bits}", "ptr %ctx", "ptr %st", vector.typed, f"i32 {mask}", lw.site)
    return Value(name, int_elem(bits), True)


def _vector_load_many(lw: Lowering, pointer: Value, bits: int, count: int) -> list[Value]:
    b = lw.b
    _, mask = lw.active()
    buffer = lw.scratch()
    vector = b.splat(pointer)
    b.call(
        "void",
        f"judge_load_{bits}x{count}",
        "ptr %ctx",
        "ptr %st",
        vector.typed,
        f"i32 {mask}",
        lw.site,
        f"ptr {buffer}",
    )
    return [b.load(b.offset(buffer, k * 4 * bits), int_elem(bits), True, align=16) for k in range(count)]


def store(lw: Lowering, instruction: Instruction) -> None:
    _, bits, count = _shape(instruction)
    operands = (*instruction.destinations, *instruction.sources)
    address, source = operands[0], operands[1]
    if not isinstance(address, Address) or bits == 128:
        raise lw.refuse(instruction)
    elements = source.elements if isinstance(source, Vector) else (source,)
    values = [lw.read(e, int_elem(bits)) for e in elements]
    lw.strong = is_strong(instruction) and lw.index not in lw.loose
    pointer = generic_address(lw, instruction, address)
    spaces = _spaces(lw, instruction, address)
    note_access(lw, pointer, spaces, bits // 8 * count, WRITE)
    if "release" in instruction.modifiers:
        fence(lw, instruction)
    if lw.strong:
        publish(lw)
    _store_values(lw, pointer, spaces, values, bits)
    if lw.index in lw.carried.stores:
        carry_unset(lw, pointer, bits)


def _store_values(lw: Lowering, pointer: Value, spaces: int, values: list[Value], bits: int) -> None:
    if not pointer.vec and spaces == LOCAL and bits >= 32 and lw.guard is None:
        _local_store(lw, pointer, values, bits)
        return
    if not pointer.vec and not spaces & LOCAL and not _varying_guard(lw):
        _check_uniform_vector(lw, pointer, bits, len(values), write=True)
        for k, value in enumerate(values):
            _uniform_store(lw, plus(lw, pointer, k * bits // 8), value, bits)
        return
    _lane_stores(lw, pointer, values, bits)


def _lane_stores(lw: Lowering, pointer: Value, values: list[Value], bits: int) -> None:
    """Through the runtime, each lane checked."""
    b, count = lw.b, len(values)
    _, mask = lw.active()
    if count > 1 and (bits, count) in VECTOR_FORMS:
        buffer = lw.scratch()
        for k, value in enumerate(values):
            b.store(b.offset(buffer, k * 4 * bits), b.splat(value), align=16)
        vector = b.splat(pointer)
        b.call(
            "void",
            f"judge_store_{bits}x{count}",
            "ptr %ctx",
            "ptr %st",
            vector.typed,
            f"ptr {buffer}",
            f"i32 {mask}",
            lw.site,
        )
        return
    for k, value in enumerate(values):
        _vector_store(lw, plus(lw, pointer, k * bits // 8), value, bits, mask)


def _vector_store(lw: Lowering, pointer: Value, value: Value, bits: int, mask: str) -> None:
    vector, data = lw.b.splat(pointer), lw.b.splat(value)
    lw.b.call("void", f"judge_store_{bits}", "ptr %ctx", "ptr %st", vector.typed, data.typed, f"i32 {mask}", lw.site)


def _uniform_store(lw: Lowering, pointer: Value, value: Value, bits: int) -> None:
    """All active lanes write one place: the highest lane's value stays, as on a GPU it may."""
    b = lw.b
    _, mask = lw.active()
    if value.vec and lw.watch:
        return _vector_store(lw, pointer, value, bits, mask)  # which tells lanes with different values apart
    if value.vec:
        b.declarations.add("declare i32 @llvm.ctlz.i32(i32, i1)")
        zeros = b.assign(f"call i32 @llvm.ctlz.i32(i32 {mask}, i1 false)", "i32")
        lane = b.binary("and", b.binary("sub", const_int(31, "i32"), zeros), const_int(31, "i32"))
        value = b.assign(f"extractelement {value.typed}, i32 {lane.text}", value.elem)
    wide = b.resize(value, "i64")
    b.call(
        "void",
        "judge_uniform_store",
        "ptr %ctx",
        "ptr %st",
        f"i64 {pointer.text}",
        wide.typed,
        f"i32 {mask}",
        lw.site,
        f"i64 {bits // 8}",
    )
    return None


def _local_store(lw: Lowering, pointer: Value, values: list[Value], bits: int) -> None:
    b = lw.b
    width = bits // 8
    values = [b.splat(value) for value in values]
    offset, inside = local_offset(lw, pointer, width * len(values))
    name = b.fresh()[1:]
    b.emit(f"br i1 {inside.text}, label %fast_{name}, label %slow_{name}")
    b.label(f"fast_{name}")
    if lw.watch:
        note_local_writes(lw, offset, width * len(values))
    row = local_row(lw, offset)
    parts = values
    if bits == 64:
        halves = [(v, b.binary("lshr", v, const_int(32, "i64"))) for v in values]
        parts = [b.resize(half, "i32") for pair in halves for half in pair]
    for k, part in enumerate(parts):
        place = b.offset(row, 128 * k)
        if lw.whole_warp:
            b.store(place, part, align=64)
        elif lw.masked_stores:
            lw.masked_store(place, part)
        else:
            old = b.load(place, "i32", True, align=64)
            b.store(place, b.select(lw.mask, part, old), align=64)
    b.emit(f"br label %join_{name}")
    b.label(f"slow_{name}")
    _lane_stores(lw, pointer, values, bits)
    b.emit(f"br label %join_{name}")
    b.label(f"join_{name}")


def atomic(lw: Lowering, instruction: Instruction) -> None:
    """atom and red: lane after lane, each one an atomic operation of the host."""
    b = lw.b
    type_ = instruction.types[-1]
    operation = next(m for m in instruction.modifiers if m in (*_ATOMIC, "min", "max", "cas"))
    operands = [*instruction.sources]
    if instruction.opcode == "red":
        operands = [*instruction.destinations, *instruction.sources]  # type: ignore[list-item]
    address = operands[0]
    if (
        not isinstance(address, Address)
        or type_ in ("b128",)
        or any(m in ("v2", "v4", "v8") for m in instruction.modifiers)
    ):
        raise lw.refuse(instruction)
    function = _atomic_function(lw, instruction, operation, type_)
    lw.strong = True
    if any(m in ("release", "acq_rel", "sc") for m in instruction.modifiers):
        fence(lw, instruction)
    publish(lw)
    bits = WIDTHS[type_]
    elem = int_elem(bits)
    values = [b.splat(lw.read(o, elem)) for o in operands[1:3]]
    if len(values) == 1:
        values.append(b.splat(const_int(0, elem)))
    pointer = b.splat(generic_address(lw, instruction, address))
    note_access(lw, pointer, _spaces(lw, instruction, address), bits // 8, ATOMIC)
    _, mask = lw.active()
    name = b.call(
        f"<32 x {elem}>",
        function,
        "ptr %ctx",
        "ptr %st",
        pointer.typed,
        values[0].typed,
        values[1].typed,
        f"i32 {mask}",
        lw.site,
    )
    if instruction.opcode == "atom":
        lw.write(instruction.destinations[0], Value(name, elem, True), signed=type_.startswith("s"))


def _atomic_function(lw: Lowering, instruction: Instruction, operation: str, type_: str) -> str:
    """The name of the per-lane function of an operation; its text is added to the module once."""
    name = f"judge_atom_{operation}_{type_}"
    if name in lw.functions:
        return name
    bits = WIDTHS[type_]
    if is_float_type(type_):
        if operation != "add":
            raise lw.refuse(instruction)
        core = _float_add(type_, bits)
    elif operation == "cas":
        core = f"""  %pair = cmpxchg ptr %q, i{bits} %x, i{bits} %y seq_cst seq_cst
  %old = extractvalue {{ i{bits}, i1 }} %pair, 0"""
    else:
        if operation in ("min", "max"):
            llvm_name = operation if type_.startswith("s") else "u" + operation
        else:
            llvm_name = _ATOMIC[operation]
        core = f"  %old = atomicrmw {llvm_name} ptr %q, i{bits} %x seq_cst"
    # An exchange is also how a first value is set: what it finds is only a fault where it is used.
    flags = WRITES if operation == "exch" else READS | WRITES | (COMPARES if operation == "cas" else 0)
    lw.functions[name] = _ATOMIC_LOOP.format(name=name, bits=bits, width=bits // 8, core=core, watch_flags=flags)
    return name


def _float_add(type_: str, bits: int) -> str:
    if type_ in ("f32", "f64"):
        elem = "float" if type_ == "f32" else "double"
        return f"""  %fx = bitcast i{bits} %x to {elem}
  %fold = atomicrmw fadd ptr %q, {elem} %fx seq_cst
  %old = bitcast {elem} %fold to i{bits}"""
    parts = 2 if type_.endswith("x2") else 1
    scalar = type_.removesuffix("x2")
    lines = [f"  %start = load i{bits}, ptr %q, align 1", "  br label %try", "try:"]
    lines.append(f"  %seen = phi i{bits} [ %start, %good ], [ %now, %try ]")
    merged = "0"
    for part in range(parts):
        for operand in ("seen", "x"):
            lines.append(f"  %{operand}_s{part} = lshr i{bits} %{operand}, {16 * part}")
            if bits > 16:
                lines.append(f"  %{operand}_h{part} = trunc i{bits} %{operand}_s{part} to i16")
            else:
                lines.append(f"  %{operand}_h{part} = or i16 %{operand}_s{part}, 0")
            if scalar == "f16":
                lines.append(f"  %{operand}_q{part} = bitcast i16 %{operand}_h{part} to half")
                lines.append(f"  %{operand}_f{part} = fpext half %{operand}_q{part} to float")
            else:
                lines.append(f"  %{operand}_z{part} = zext i16 %{operand}_h{part} to i32")
                lines.append(f"  %{operand}_u{part} = shl i32 %{operand}_z{part}, 16")
                lines.append(f"  %{operand}_f{part} = bitcast i32 %{operand}_u{part} to float")
        lines.append(f"  %sum{part} = fadd float %seen_f{part}, %x_f{part}")
        if scalar == "f16":
            lines.append(f"  %r{part} = fptrunc float %sum{part} to half")
            lines.append(f"  %rb{part} = bitcast half %r{part} to i16")
        else:
            lines += [
                f"  %sb{part} = bitcast float %sum{part} to i32",
                f"  %lo{part} = lshr i32 %sb{part}, 16",
                f"  %odd{part} = and i32 %lo{part}, 1",
                f"  %ad{part} = add i32 %sb{part}, 32767",
                f"  %rd{part} = add i32 %ad{part}, %odd{part}",
                f"  %nan{part} = fcmp uno float %sum{part}, %sum{part}",
                f"  %ch{part} = select i1 %nan{part}, i32 2147418112, i32 %rd{part}",
                f"  %up{part} = lshr i32 %ch{part}, 16",
                f"  %rb{part} = trunc i32 %up{part} to i16",
            ]
        if bits > 16:
            lines.append(f"  %w{part} = zext i16 %rb{part} to i{bits}")
        else:
            lines.append(f"  %w{part} = or i16 %rb{part}, 0")
        lines.append(f"  %p{part} = shl i{bits} %w{part}, {16 * part}")
        lines.append(f"  %m{part} = or i{bits} %p{part}, {merged}")
        merged = f"%m{part}"
    lines += [
        f"  %pair = cmpxchg ptr %q, i{bits} %seen, i{bits} {merged} seq_cst seq_cst",
        f"  %now = extractvalue {{ i{bits}, i1 }} %pair, 0",
        f"  %won = extractvalue {{ i{bits}, i1 }} %pair, 1",
        "  br i1 %won, label %added, label %try",
        "added:",
        f"  %old = or i{bits} %seen, 0",
    ]
    return "\n".join(lines)


_ATOMIC_LOOP = """
define internal <32 x i{bits}> @{name}(ptr %ctx, ptr %st, <32 x i64> %addr, <32 x i{bits}> %a, <32 x i{bits}> %b,
                                       i32 %mask, i32 %site) noinline {{
entry:
  %addrs = alloca [32 x i64], align 64
  %xs = alloca [32 x i{bits}], align 64
  %ys = alloca [32 x i{bits}], align 64
  %out = alloca [32 x i{bits}], align 64
  store <32 x i64> %addr, ptr %addrs, align 64
  store <32 x i{bits}> %a, ptr %xs, align 64
  store <32 x i{bits}> %b, ptr %ys, align 64
  store <32 x i{bits}> zeroinitializer, ptr %out, align 64
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %done, label %loop
loop:
  %left = phi i32 [ %mask, %entry ], [ %rest, %next ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %pa = getelementptr i64, ptr %addrs, i32 %lane
  %aa = load i64, ptr %pa
  %q = call ptr @judge_checked(ptr %ctx, ptr %st, i32 %lane, i64 %aa, i64 {width}, i32 %site, i1 true)
  %bad = icmp eq ptr %q, null
  br i1 %bad, label %next, label %good
good:
  call void @judge_watch_any(ptr %ctx, ptr %st, i32 %lane, i64 %aa, i64 {width}, i32 %site, i32 {watch_flags})
  %px = getelementptr i{bits}, ptr %xs, i32 %lane
  %x = load i{bits}, ptr %px
  %py = getelementptr i{bits}, ptr %ys, i32 %lane
  %y = load i{bits}, ptr %py
{core}
  %po = getelementptr i{bits}, ptr %out, i32 %lane
  store i{bits} %old, ptr %po
  call void @judge_traffic(ptr %ctx, i64 %aa, i64 {width}, i64 0)
  call void @judge_traffic(ptr %ctx, i64 %aa, i64 {width}, i64 1)
  br label %next
next:
  %end = icmp eq i32 %rest, 0
  br i1 %end, label %done, label %loop
done:
  %r = load <32 x i{bits}>, ptr %out, align 64
  ret <32 x i{bits}> %r
}}
"""


def prefetch(lw: Lowering, instruction: Instruction) -> None:
    """Hints: nothing to do."""


def policy(lw: Lowering, instruction: Instruction) -> None:
    """An opaque value that tells a GPU's L2 what to keep: any serves."""
    lw.write(instruction.destinations[0], const_int(0, "i64"))


def fence(lw: Lowering, instruction: Instruction) -> None:
    """A CTA's warps run one after another, so only the watch has to know."""
    if lw.watch:
        wide = int("cta" not in instruction.modifiers)
        lw.b.call("void", "judge_fence", "ptr %ctx", "ptr %st", f"i32 {wide}")


def publish(lw: Lowering) -> None:
    """A flag is written or an atomic done: who sees that may know of what was fenced before it."""
    if lw.watch:
        lw.b.call("void", "judge_publish", "ptr %ctx")


OPERATIONS: dict[str, Callable[[Lowering, Instruction], None]] = {
    "ld": load,
    "ldu": load,
    "st": store,
    "atom": atomic,
    "red": atomic,
    "prefetch": prefetch,
    "prefetchu": prefetch,
    "discard": prefetch,
    "applypriority": prefetch,
    "createpolicy": policy,
    "membar": fence,
    "fence": fence,
    "nanosleep": prefetch,
    "pmevent": prefetch,
    "griddepcontrol": prefetch,
}
