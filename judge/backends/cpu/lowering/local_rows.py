"""Rows of thread-local memory: the same word of all 32 lanes side by side, for addresses all lanes agree on."""

from judge.backends.cpu.addresses import LOCAL_SLOT, slot_base
from judge.backends.cpu.lowering.context import Lowering
from judge.backends.cpu.lowering.layout import State
from judge.backends.cpu.lowering.values import Value, const_int


def local_offset(lw: Lowering, pointer: Value, width: int) -> tuple[Value, Value]:
    """Offset in the thread's local block, and whether an aligned access there is inside it."""
    b = lw.b
    offset = b.binary("sub", pointer, const_int(slot_base(LOCAL_SLOT), "i64"))
    limit = const_int(lw.kernel.local_bytes - width, "i64")
    inside = b.icmp("ule", offset, limit) if lw.kernel.local_bytes >= width else const_int(0, "i1")
    low = b.binary("and", offset, const_int(width - 1, "i64"))
    return offset, b.binary("and", inside, b.icmp("eq", low, const_int(0, "i64")))


def local_written(lw: Lowering, offset: Value, width: int) -> Value:
    """Whether all active lanes have written to every word of a local access (some byte of it)."""
    b = lw.b
    base = b.load(b.offset("%st", State.LOCAL_INIT), "ptr").text
    place = b.offset(base, b.binary("shl", offset, const_int(2, "i64")))
    b.declarations.add("declare i32 @llvm.vector.reduce.or.v4i32(<4 x i32>)")
    written: Value | None = None
    for word in range(width // 4):
        masks = b.fresh()
        b.emit(f"{masks} = load <4 x i32>, ptr {b.offset(place, 16 * word)}, align 4")
        some = b.assign(f"call i32 @llvm.vector.reduce.or.v4i32(<4 x i32> {masks})", "i32")
        written = some if written is None else b.binary("and", written, some)
    assert written is not None
    active = Value(lw.mask_bits, "i32")
    return b.icmp("eq", b.binary("and", written, active), active)


def note_local_writes(lw: Lowering, offset: Value, width: int) -> None:
    """Note what the active lanes wrote to."""
    b = lw.b
    base = b.load(b.offset("%st", State.LOCAL_INIT), "ptr").text
    place = b.offset(base, b.binary("shl", offset, const_int(2, "i64")))
    first, lanes, masks, both = b.fresh(), b.fresh(), b.fresh(), b.fresh()
    words = width  # four masks a word
    kind = f"<{words} x i32>"
    b.emit(f"{first} = insertelement {kind} poison, i32 {lw.mask_bits}, i64 0")
    b.emit(f"{lanes} = shufflevector {kind} {first}, {kind} poison, <{words} x i32> zeroinitializer")
    b.emit(f"{masks} = load {kind}, ptr {place}, align 4")
    b.emit(f"{both} = or {kind} {masks}, {lanes}")
    b.emit(f"store {kind} {both}, ptr {place}, align 4")


def local_row(lw: Lowering, offset: Value) -> str:
    """Pointer to the row of 32 words at a 4-byte aligned offset: 128 bytes a word."""
    b = lw.b
    base = b.load(b.offset("%st", State.LOCAL), "ptr").text
    return b.offset(base, b.binary("shl", offset, const_int(5, "i64")))
