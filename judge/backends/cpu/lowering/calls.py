"""Builtins that stay calls (printf, assert), and what is left of barriers inside a block."""

from collections.abc import Callable
from dataclasses import replace

from judge.backends.cpu.ir import Instruction, Kernel, Target
from judge.backends.cpu.lowering.context import Lowering
from judge.backends.cpu.lowering.layout import Ctx, EventKind, State, Status
from judge.backends.cpu.lowering.values import Value, const_int
from judge.backends.cpu.lowering.warp_ops import check_members
from judge.backends.cpu.refusal import NotEmulatedError

BARRIER_RESULT = "barrier_result"
"""Opcode of the second half of a bar.red: what the opened barrier gives."""


def split_barrier_reductions(kernel: Kernel) -> Kernel:
    """Cut every bar.red in two, so that its result is written after lanes have waited."""
    if not any(_is_reduction(i) for i in kernel.instructions):
        return kernel
    code: list[Instruction] = []
    moved: list[int] = []
    for instruction in kernel.instructions:
        moved.append(len(code))
        if _is_reduction(instruction):
            code.append(replace(instruction, destinations=()))
            result = replace(instruction, opcode=BARRIER_RESULT, sources=())
            code.append(result)
        else:
            code.append(instruction)
    moved.append(len(code))
    code = [
        replace(i, sources=tuple(Target(moved[s.index]) if isinstance(s, Target) else s for s in i.sources))
        if any(isinstance(s, Target) for s in i.sources)
        else i
        for i in code
    ]
    return replace(kernel, instructions=tuple(code))


def _is_reduction(instruction: Instruction) -> bool:
    return instruction.opcode in ("bar", "barrier") and "red" in instruction.modifiers


def call(lw: Lowering, instruction: Instruction) -> None:
    name = instruction.modifiers[-1] if instruction.modifiers[0] == "uni" else instruction.modifiers[0]
    if name == "vprintf":
        return _printf(lw, instruction)
    if name == "__assertfail":
        return _assert(lw, instruction)
    raise NotEmulatedError(f"{name}()")


def _printf(lw: Lowering, instruction: Instruction) -> None:
    b = lw.b
    text, arguments = (b.splat(lw.read(s, "i64")) for s in instruction.sources[:2])
    _, mask = lw.active()
    b.call("void", "judge_printf", "ptr %ctx", "ptr %st", text.typed, arguments.typed, f"i32 {mask}")
    if instruction.destinations:
        lw.write(instruction.destinations[0], b.splat(const_int(1, "i32")))


def _assert(lw: Lowering, instruction: Instruction) -> None:
    """An assertion that failed ends the launch, as on a GPU."""
    b = lw.b
    _, mask = lw.active()
    message, _file, line = (lw.read(s, e) for s, e in zip(instruction.sources[:3], ("i64", "i64", "i32"), strict=True))
    first = b.assign(f"call i32 @llvm.cttz.i32(i32 {mask}, i1 false)", "i32")
    lane = b.binary("and", first, const_int(31, "i32"))
    words = [_of_lane(lw, v, lane) for v in (message, b.resize(line, "i64"))]
    name = b.fresh()[1:]
    none = b.icmp("eq", Value(mask, "i32"), const_int(0, "i32"))
    b.emit(f"br i1 {none.text}, label %skip_{name}, label %fail_{name}")
    b.label(f"fail_{name}")
    b.call(
        "void",
        "judge_fault",
        "ptr %ctx",
        "ptr %st",
        f"i32 {int(EventKind.ASSERT)}",
        f"i32 {lw.index}",
        f"i32 {mask}",
        "i64 0",
        "i32 0",
        f"i64 {words[0].text}",
        f"i64 {words[1].text}",
        "i64 0",
    )
    b.emit(f"ret i32 {Status.FAULT}")
    b.label(f"skip_{name}")


def _of_lane(lw: Lowering, value: Value, lane: Value) -> Value:
    if not value.vec:
        return value
    return lw.b.assign(f"extractelement {value.typed}, i32 {lane.text}", value.elem)


def barrier_result(lw: Lowering, instruction: Instruction) -> None:
    b = lw.b
    popcount = b.load(b.offset("%st", State.BARRIER_POPC32), "i32")
    if "popc" in instruction.modifiers:
        return lw.write(instruction.destinations[0], popcount)
    if "or" in instruction.modifiers:
        return lw.write(instruction.destinations[0], b.icmp("ne", popcount, const_int(0, "i32")))
    total = b.load(b.offset("%st", State.BARRIER_TOTAL32), "i32")
    return lw.write(instruction.destinations[0], b.icmp("eq", popcount, total))


def warp_barrier(lw: Lowering, instruction: Instruction) -> None:
    """bar.warp.sync: the lanes of a group are in step already. bar.arrive counts them and lets them go on."""
    if "arrive" in instruction.modifiers:
        _arrive(lw, instruction)
        return None
    if "warp" not in instruction.modifiers:
        raise lw.refuse(instruction)
    if instruction.sources:
        check_members(lw, lw.read(instruction.sources[0], "i32"), None, together=False)
    return tick_warp(lw)


def tick_warp(lw: Lowering) -> None:
    """What the warp did so far is ordered before what it does next."""
    if lw.watch:
        lw.b.call("void", "judge_tick_warp", "ptr %ctx", "ptr %st", f"i64 {int(State.SYNC32)}")


def check_barrier_count(lw: Lowering, threads: Value) -> None:
    """A barrier counts whole warps; a count from a register is only known now."""
    b = lw.b
    odd = b.binary("and", threads, const_int(31, "i32"))
    name = b.fresh()[1:]
    b.emit(f"switch i32 {odd.text}, label %odd_{name} [ i32 0, label %even_{name} ]")
    b.label(f"odd_{name}")
    given = b.resize(threads, "i64")
    b.call(
        "void",
        "judge_fault",
        "ptr %ctx",
        "ptr %st",
        f"i32 {int(EventKind.BARRIER_COUNT)}",
        f"i32 {lw.index}",
        f"i32 {lw.mask_bits}",
        "i64 0",
        "i32 0",
        given.typed,
        "i64 0",
        "i64 0",
    )
    b.emit(f"br label %even_{name}")
    b.label(f"even_{name}")


def _arrive(lw: Lowering, instruction: Instruction) -> None:
    """A warp whose live lanes all arrive counts whole, as it does where it waits."""
    b = lw.b
    _, mask = lw.active()
    identity = lw.read(instruction.sources[0], "i32")
    if identity.vec:  # the lanes of a warp name one barrier
        first = b.assign(f"call i32 @llvm.cttz.i32(i32 {mask}, i1 false)", "i32")
        identity = _of_lane(lw, identity, b.binary("and", first, const_int(31, "i32")))
    lanes = b.assign(f"call i32 @llvm.ctpop.i32(i32 {mask})", "i32")
    live = b.load(b.offset("%st", State.LIVE32), "i32")
    count = b.select(b.icmp("eq", Value(mask, "i32"), live), const_int(32, "i32"), lanes)
    number = b.resize(b.binary("and", identity, const_int(15, "i32")), "i64")
    place = b.offset(b.offset("%ctx", Ctx.ARRIVALS), b.binary("shl", number, const_int(2, "i64")))
    b.store(place, b.binary("add", b.load(place, "i32"), count))


OPERATIONS: dict[str, Callable[[Lowering, Instruction], None]] = {
    "call": call,
    "bar": warp_barrier,
    "barrier": warp_barrier,
    BARRIER_RESULT: barrier_result,
}
