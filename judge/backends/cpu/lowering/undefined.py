"""Scalars that some path leaves without a value.

A register that is live at the kernel's entry may be read before it was written. Few are, and each of
them has a mask of the lanes that gave it a value. A `mov` hands the mask on, since compilers copy what
nobody uses yet; any other use by a lane outside the mask is told.
"""

from collections.abc import Set

from judge.backends.cpu.ir import Instruction, Kernel, Register
from judge.backends.cpu.lowering.context import Lowering
from judge.backends.cpu.lowering.flow import Block, read_registers, written_registers
from judge.backends.cpu.lowering.layout import EventKind
from judge.backends.cpu.lowering.values import Value, const_int

_NO_USE = {"mov", "selp"}


def doubtful_registers(kernel: Kernel, blocks: list[Block], copied: Set[int] = frozenset()) -> list[int]:
    """Registers that may be read before they are written, and those a `mov` copies them to; none of `copied`."""
    if not blocks:
        return []
    found = {r.index for r in kernel.registers if blocks[0].live_in >> r.index & 1 and r.index not in copied}
    copies = [(d.index, s.index) for d, s in (_copied(i) for i in kernel.instructions) if d and s]
    grown = bool(found)
    while grown:
        more = {target for target, source in copies if source in found} - found
        found |= more
        grown = bool(more)
    return sorted(found)


def _copied(instruction: Instruction) -> tuple[Register | None, Register | None]:
    """(destination, source) of a copy between registers."""
    if instruction.opcode != "mov" or len(instruction.destinations) != 1:
        return None, None
    target, source = instruction.destinations[0], instruction.sources[0]
    if isinstance(target, Register) and isinstance(source, Register):
        return target, source
    return None, None


class Definedness:
    """Emits the upkeep of the masks. places: offset of each doubtful register's mask in the state block."""

    def __init__(self, registers: list[int], offset: int) -> None:
        self.places = {register: offset + 4 * k for k, register in enumerate(registers)}
        self.state_bytes = -(-(offset + 4 * len(registers)) // 64) * 64

    def before(self, lw: Lowering, instruction: Instruction) -> None:
        """Tell of lanes that use what they never gave a value."""
        if not self.places or instruction.opcode in _NO_USE:
            return
        guard = instruction.guard.register.index if instruction.guard is not None else None
        for index in dict.fromkeys(r.index for r in read_registers(instruction)):
            if index in self.places:
                # The guard itself decides which lanes are active, so all of the block's lanes read it.
                self._check(lw, index, lw.mask_bits if index == guard else lw.active()[1])

    def _check(self, lw: Lowering, index: int, active: str) -> None:
        b = lw.b
        known = b.load(b.offset("%st", self.places[index]), "i32")
        missing = b.binary("and", Value(active, "i32"), b.binary("xor", known, const_int(-1, "i32")))
        name = b.fresh()[1:]
        b.emit(f"switch i32 {missing.text}, label %undefined_{name} [ i32 0, label %defined_{name} ]")
        b.label(f"undefined_{name}")
        b.call(
            "void",
            "judge_fault",
            "ptr %ctx",
            "ptr %st",
            f"i32 {int(EventKind.UNINITIALIZED_SCALAR)}",
            f"i32 {lw.index}",
            missing.typed,
            *("i64 0", "i32 0", "i64 0", "i64 0", "i64 0"),
        )
        b.emit(f"br label %defined_{name}")
        b.label(f"defined_{name}")

    def after(self, lw: Lowering, instruction: Instruction) -> None:
        """Note what the active lanes gave a value."""
        for register in written_registers(instruction) if self.places else ():
            place = self.places.get(register.index)
            if place is None:
                continue
            b = lw.b
            pointer = b.offset("%st", place)
            active = Value(lw.active()[1], "i32")
            old = b.load(pointer, "i32")
            source = _copied(instruction)[1]
            if source is not None and source.index in self.places:
                given = b.binary("and", b.load(b.offset("%st", self.places[source.index]), "i32"), active)
                kept = b.binary("and", old, b.binary("xor", active, const_int(-1, "i32")))
                b.store(pointer, b.binary("or", kept, given))
            else:
                b.store(pointer, b.binary("or", old, active))
