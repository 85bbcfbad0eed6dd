"""What loads and stores that only copy emit, so that bytes without a value stay known (see carried.py)."""

from judge.backends.cpu.lowering.context import Lowering
from judge.backends.cpu.lowering.local_rows import local_offset, local_written
from judge.backends.cpu.lowering.uniformity import LOCAL
from judge.backends.cpu.lowering.values import Value, const_int


def plus(lw: Lowering, pointer: Value, offset: int) -> Value:
    return lw.b.binary("add", pointer, const_int(offset, "i64")) if offset else pointer


def find_unset(lw: Lowering, pointer: Value, spaces: int, bits: int, count: int) -> None:
    """Note the lanes that will find nothing written in a word of what a copying load reads."""
    b, width = lw.b, bits // 8
    lw.carried.places[lw.index] = pointer
    keys = [(lw.index, k, word) for k in range(count) for word in range(max(width // 4, 1))]
    shortcut = not pointer.vec and spaces == LOCAL and bits >= 32
    name = b.fresh()[1:]
    if shortcut:
        offset, inside = local_offset(lw, pointer, width * count)
        b.emit(f"br i1 {inside.text}, label %known_{name}, label %search_{name}")
        b.label(f"known_{name}")
        written = local_written(lw, offset, width * count)
        b.emit(f"br i1 {written.text}, label %all_{name}, label %search_{name}")
        b.label(f"all_{name}")
        b.emit(f"br label %found_{name}")
        b.label(f"search_{name}")
    found = []
    for _, k, word in keys:
        place = b.splat(plus(lw, pointer, k * width + 4 * word))
        arguments = f"{place.typed}, i32 {lw.mask_bits}, i64 {min(width, 4)}"
        found.append(Value(b.call("i32", "judge_unset", "ptr %ctx", "ptr %st", arguments), "i32"))
    if shortcut:
        b.emit(f"br label %found_{name}")
        b.label(f"found_{name}")
        found = [b.assign(f"phi i32 [ 0, %all_{name} ], [ {f.text}, %search_{name} ]", "i32") for f in found]
    lw.carried.unset.update(zip(keys, found, strict=True))


def carry_unset(lw: Lowering, pointer: Value, bits: int) -> None:
    """Behind a store of what copying loads gave: lanes whose value was none leave none."""
    b, width = lw.b, bits // 8
    carried = lw.carried
    words = [
        (carried.unset[(*source, word)], k * width + 4 * word, source, word)
        for k, source in enumerate(carried.stores[lw.index])
        if source is not None
        for word in range(max(width // 4, 1))
    ]
    some = words[0][0]
    for unset, *_ in words[1:]:
        some = b.binary("or", some, unset)
    name = b.fresh()[1:]
    b.emit(f"switch i32 {some.text}, label %carry_{name} [ i32 0, label %carried_{name} ]")
    b.label(f"carry_{name}")
    for unset, at, (load, element), word in words:
        there = b.splat(plus(lw, carried.places[load], element * width + 4 * word))
        here = b.splat(plus(lw, pointer, at))
        b.call(
            "void",
            "judge_carry_unset",
            "ptr %ctx",
            "ptr %st",
            here.typed,
            unset.typed,
            f"i64 {min(width, 4)}",
            f"i32 {load}",
            there.typed,
        )
    b.emit(f"br label %carried_{name}")
    b.label(f"carried_{name}")
