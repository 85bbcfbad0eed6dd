"""Code that counts how a warp's accesses fall on sectors and banks, emitted only when it was asked for."""

from judge.backends.cpu.lowering.context import Lowering
from judge.backends.cpu.lowering.uniformity import LOCAL
from judge.backends.cpu.lowering.values import Value

READ, WRITE, ATOMIC = 0, 1, 2


def note_access(lw: Lowering, pointer: Value, spaces: int, width: int, what: int, mask: str | None = None) -> None:
    """Count one access of `width` bytes a lane. what: READ, WRITE or ATOMIC.

    mask: the lanes that give an address, where they are not the active ones.

    Thread-local memory has no pattern of the kernel's choosing: the hardware interleaves it.
    """
    if not lw.patterns or spaces == LOCAL:
        return
    if mask is None:
        _, mask = lw.active()
    addresses = lw.b.splat(pointer).typed
    lw.b.call(
        "void", "judge_pattern", "ptr %ctx", addresses, f"i32 {mask}", f"i64 {width}", f"i32 {lw.index}", f"i32 {what}"
    )
