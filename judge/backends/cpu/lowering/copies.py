"""Reads of memory and registers without a value that are nobody's mistake.

Compilers copy whole objects: an empty class has one byte that nothing ever writes, a struct has padding,
and a bit field is set by reading its word first. So a value that only ends in thread-local memory counts
as copied, not used, and what a library does with its own objects is not the submission's doing.
"""

from judge.backends.cpu.ir import Address, Immediate, Instruction, Kernel, Register
from judge.backends.cpu.lowering.flow import read_registers, registers_of
from judge.backends.cpu.lowering.uniformity import LOCAL, SHARED, address_spaces

_LIBRARIES = ("cooperative_groups", "/cuda/", "/cub/", "/nv/")
_BYTES = {"b8", "u8", "s8"}


def quiet_reads(kernel: Kernel, spaces: tuple[int, ...]) -> frozenset[int]:
    """Indices of instructions that may read what has no value. spaces: as in Uniformity."""
    copied = _copied_registers(kernel, spaces, bytes_only=False)
    fields = _BitFields(kernel, spaces)
    return frozenset(
        index
        for index, instruction in enumerate(kernel.instructions)
        if in_library(instruction)
        or (instruction.opcode == "ld" and (_written(instruction) <= copied or fields.sets_one(instruction)))
    )


def copied_bytes(kernel: Kernel, spaces: tuple[int, ...]) -> set[int]:
    """Registers whose value only ends in single bytes of thread-local memory, as that of an empty class does."""
    return _copied_registers(kernel, spaces, bytes_only=True)


class _BitFields:
    """Finds ld r, [a]; and s, r, mask; (or t, s, bits;) st [a], t: what a store to a bit field becomes."""

    def __init__(self, kernel: Kernel, spaces: tuple[int, ...]) -> None:
        self.spaces = spaces
        self.readers: dict[int, list[Instruction]] = {}
        for instruction in kernel.instructions:
            for register in read_registers(instruction):
                self.readers.setdefault(register.index, []).append(instruction)

    def sets_one(self, load: Instruction) -> bool:
        address, value = load.sources[0], load.destinations[0]
        if not isinstance(address, Address) or not isinstance(value, Register) or load.guard is not None:
            return False
        if address_spaces(address, self.spaces) not in (LOCAL, SHARED):
            return False
        steps = ("and",)
        while len(uses := self.readers.get(value.index, [])) == 1:
            use = uses[0]
            if use.opcode == "st":
                return steps == ("or",) and address in (*use.destinations, *use.sources)
            result = use.destinations[0] if use.destinations else None
            masked = use.opcode == "or" or any(isinstance(s, Immediate) for s in use.sources)
            if use.opcode not in steps or not masked or not isinstance(result, Register):
                return False
            value, steps = result, ("or",)
        return False


def in_library(instruction: Instruction) -> bool:
    """Code of a library with objects of its own; what the thin headers (mma.h, cuda_fp16.h) read is the user's."""
    location = instruction.location
    return location is not None and any(name in location.file for name in _LIBRARIES)


def _written(instruction: Instruction) -> set[int]:
    return {r.index for operand in instruction.destinations for r in registers_of(operand)}


def _copied_registers(kernel: Kernel, spaces: tuple[int, ...], *, bytes_only: bool) -> set[int]:
    """The largest set of registers that only instructions read which store them or copy them within the set."""
    used: set[int] = set()
    sources: dict[int, set[int]] = {}
    for instruction in kernel.instructions:
        used |= _used(instruction, spaces, bytes_only=bytes_only)
        if is_move(instruction):
            for target in _written(instruction):
                sources.setdefault(target, set()).update(_read(instruction))
    waiting = list(used)
    while waiting:
        more = sources.get(waiting.pop(), set()) - used
        used |= more
        waiting.extend(more)
    return {r.index for r in kernel.registers} - used


def _read(instruction: Instruction) -> set[int]:
    return {r.index for operand in instruction.sources for r in registers_of(operand)}


def _used(instruction: Instruction, spaces: tuple[int, ...], *, bytes_only: bool) -> set[int]:
    """Registers an instruction does more with than store them locally or move them."""
    used = {instruction.guard.register.index} if instruction.guard is not None else set()
    if is_move(instruction):
        return used
    operands = (*instruction.destinations, *instruction.sources)
    for address in operands:
        if isinstance(address, Address):
            used |= {r.index for r in registers_of(address)}
            fits = not bytes_only or bool(_BYTES & set(instruction.types))
            if instruction.opcode == "st" and fits and _is_local(instruction, address, spaces):
                return used
    return used | _read(instruction)


def _is_local(instruction: Instruction, address: Address, spaces: tuple[int, ...]) -> bool:
    if "local" in instruction.modifiers:
        return True
    named = {"global", "shared", "const", "param"} & set(instruction.modifiers)
    return not named and address_spaces(address, spaces) == LOCAL


def is_move(instruction: Instruction) -> bool:
    """A mov, or a cvt that hands bytes on in a wider register."""
    if not all(isinstance(o, Register) for o in (*instruction.destinations, *instruction.sources)):
        return False
    return instruction.opcode == "mov" or (
        instruction.opcode == "cvt" and len(instruction.modifiers) == 2 and instruction.types[-1] in _BYTES
    )
