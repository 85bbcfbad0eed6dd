"""cp.async: queued by the runtime when it is issued, written to shared memory when its thread waits.

A kernel that reads before the wait so sees the old bytes. Both sides are checked when it is issued,
where the line of the copy is known.
"""

from collections.abc import Callable

from judge.backends.cpu.addresses import SHARED_SLOT, slot_base
from judge.backends.cpu.ir import Address, Immediate, Instruction, Register
from judge.backends.cpu.lowering.context import Lowering
from judge.backends.cpu.lowering.patterns import READ, WRITE, note_access
from judge.backends.cpu.lowering.uniformity import GLOBAL, SHARED
from judge.backends.cpu.lowering.values import const_int
from judge.backends.cpu.refusal import NotEmulatedError

_SIZES = (4, 8, 16)


def copy(lw: Lowering, instruction: Instruction) -> None:
    modifiers = instruction.modifiers
    if modifiers[0] != "async" or "bulk" in modifiers or "mbarrier" in modifiers:
        raise lw.refuse(instruction)
    _, mask = lw.active()
    if "commit_group" in modifiers:
        lw.b.call("void", "judge_async_commit", "ptr %ctx", "ptr %st", f"i32 {mask}")
    elif "wait_all" in modifiers:
        lw.b.call("void", "judge_async_wait", "ptr %ctx", "ptr %st", "i32 -1", f"i32 {mask}")
    elif "wait_group" in modifiers:
        keep = instruction.sources[0]
        if not isinstance(keep, Immediate) or keep.value < 0:
            raise lw.refuse(instruction)
        number = min(keep.value, 0x7FFF_FFFF)
        lw.b.call("void", "judge_async_wait", "ptr %ctx", "ptr %st", f"i32 {number}", f"i32 {mask}")
    else:
        _issue(lw, instruction, mask)


def _issue(lw: Lowering, instruction: Instruction, mask: str) -> None:
    b = lw.b
    operands = [o for o in (*instruction.destinations, *instruction.sources) if o is not None]
    if "L2::cache_hint" in instruction.modifiers:
        operands.pop()
    to, from_, size, *rest = operands
    if not isinstance(to, Address) or not isinstance(from_, Address) or not isinstance(size, Immediate):
        raise lw.refuse(instruction)
    if size.value not in _SIZES or ("cg" in instruction.modifiers and size.value != 16):
        raise NotEmulatedError(f"{instruction.form} of {size.value} bytes")
    bytes_ = const_int(size.value, "i32")
    wanted = bytes_
    if rest and isinstance(rest[0], Register) and rest[0].type == "pred":
        wanted = b.select(lw.read(rest[0], "i1"), const_int(0, "i32"), bytes_)
    elif rest:
        wanted = b.intrinsic("umin", lw.read(rest[0], "i32"), bytes_)
    target = b.splat(b.binary("add", lw.address_value(to), const_int(slot_base(SHARED_SLOT), "i64")))
    source = b.splat(lw.address_value(from_))
    note_access(lw, source, GLOBAL, size.value, READ)
    note_access(lw, target, SHARED, size.value, WRITE)
    arguments = f"{target.typed}, {source.typed}, {b.splat(wanted).typed}, {bytes_.typed}"
    b.call("void", "judge_async_copy", "ptr %ctx", "ptr %st", arguments, f"i32 {mask}", f"i32 {lw.index}")


OPERATIONS: dict[str, Callable[[Lowering, Instruction], None]] = {"cp": copy}
