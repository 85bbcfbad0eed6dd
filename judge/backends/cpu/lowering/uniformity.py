"""Which registers hold one value for the whole warp while its lanes run together.

Code exists in two versions. In the one where all live lanes run together, a register is uniform
when every definition has uniform operands and no branch that may part the lanes decides which
definition reaches a place where they meet again. In the other version every register is a vector.

Safety does not rest on this analysis: lanes that were apart go on together only after the values
of all uniform registers were compared, so a wrong guess costs speed and nothing else.
"""

from dataclasses import dataclass

from judge.backends.cpu.ir import Address, Immediate, Instruction, Kernel, Register, Special, Symbol
from judge.backends.cpu.lowering.flow import (
    EXIT,
    Block,
    is_barrier,
    post_dominators,
    reachable,
    read_registers,
    registers_of,
    written_registers,
)
from judge.backends.cpu.lowering.layout import CtaShape

GLOBAL, SHARED, LOCAL = 1, 2, 4
UNKNOWN = GLOBAL | SHARED | LOCAL
_SPACE_BITS = {"shared": SHARED, "local": LOCAL, "global": GLOBAL, "const": GLOBAL, "param": GLOBAL}

_VARYING_SPECIALS = {"tid.x", "tid.y", "tid.z", "laneid"}
_VARYING_RESULTS = {"atom", "call", "shfl", "match", "elect", "ldmatrix", "movmatrix", "mma", "wmma"}
_POINTER_OPS = {"add", "sub", "mov", "cvta", "cvt", "selp", "and", "or", "xor", "mad", "min", "max", "slct"}


@dataclass(frozen=True)
class Uniformity:
    """varying: bit set of register indices. meetings: blocks where lanes that were apart may meet.

    spaces: per register index, which state spaces a generic address in it may point to (GLOBAL,
    SHARED, LOCAL bits). warp_quotients: instructions that divide the thread index of a
    one-dimensional CTA by a multiple of 32.
    """

    varying: int
    meetings: frozenset[int]
    spaces: tuple[int, ...]
    warp_quotients: frozenset[int]

    def is_varying(self, register: Register) -> bool:
        return bool(self.varying >> register.index & 1)


def analyze(kernel: Kernel, blocks: list[Block], *, shape: CtaShape) -> Uniformity:
    """In a CTA of one dimension tid.x = 32 * warp + lane; in one of a single thread nothing varies by lane."""
    spaces = _address_spaces(kernel)
    quotients = _warp_quotients(kernel) if shape is CtaShape.LINE else frozenset()
    meeting = _MeetingPoints(kernel, blocks)
    varying = 0
    meetings: set[int] = set()
    branched: set[int] = set()
    changed = True
    while changed:
        changed = False
        for block in blocks:
            for index in range(block.start, block.end):
                instruction = kernel.instructions[index]
                if not instruction.destinations or index in quotients:
                    continue
                if _makes_varying(instruction, varying, spaces, shape):
                    written = _bits(instruction)
                    changed |= bool(written & ~varying)
                    varying |= written
            if block.number in branched or not _branches_apart(kernel.instructions[block.end - 1], varying):
                continue
            branched.add(block.number)
            region, place = meeting.region(block.number)
            meetings.update(s for s in block.successors if s != EXIT)
            if place == EXIT:
                continue
            meetings.add(place)
            merged = _written_in(kernel, blocks, region) & blocks[place].live_in
            changed |= bool(merged & ~varying)
            varying |= merged
    return Uniformity(varying, frozenset(meetings), spaces, quotients)


def apart(kernel: Kernel, uniformity: Uniformity) -> Uniformity:
    """The view of the version where lanes run apart: nothing is uniform."""
    return Uniformity((1 << len(kernel.registers)) - 1, uniformity.meetings, uniformity.spaces, frozenset())


def _bits(instruction: Instruction) -> int:
    bits = 0
    for register in written_registers(instruction):
        bits |= 1 << register.index
    return bits


def _written_in(kernel: Kernel, blocks: list[Block], region: set[int]) -> int:
    bits = 0
    for number in region:
        for index in range(blocks[number].start, blocks[number].end):
            bits |= _bits(kernel.instructions[index])
    return bits


def _branches_apart(last: Instruction, varying: int) -> bool:
    if last.opcode == "brx":
        return any(varying >> r.index & 1 for r in read_registers(last))
    guarded = last.guard is not None and last.opcode in ("bra", "ret", "exit", "trap")
    return guarded and bool(varying >> last.guard.register.index & 1) if last.guard else False


def _makes_varying(instruction: Instruction, varying: int, spaces: tuple[int, ...], shape: CtaShape) -> bool:
    opcode = instruction.opcode
    if opcode in _VARYING_RESULTS:
        return True
    if instruction.guard is not None and varying >> instruction.guard.register.index & 1:
        return True
    if opcode == "ld" and _may_be_local(instruction, spaces):
        return True
    if opcode in ("activemask", "bar", "barrier"):
        return False
    if opcode in ("vote", "redux"):  # one result for all members of one mask
        return any(varying >> r.index & 1 for operand in instruction.sources[1:] for r in registers_of(operand))
    for operand in instruction.sources:
        if isinstance(operand, Special) and _special_varies(operand.name, shape):
            return True
    return any(varying >> r.index & 1 for r in read_registers(instruction))


def _special_varies(name: str, shape: CtaShape) -> bool:
    if shape is CtaShape.SINGLE:
        return False
    if shape is CtaShape.LINE and name in ("tid.y", "tid.z"):
        return False
    return name in _VARYING_SPECIALS or name.startswith("lanemask")


def _may_be_local(instruction: Instruction, spaces: tuple[int, ...]) -> bool:
    if "local" in instruction.modifiers:
        return True
    if any(space in instruction.modifiers for space in ("global", "shared", "const", "param")):
        return False
    if any(m.startswith(("shared::", "param::")) for m in instruction.modifiers):
        return False
    address = instruction.sources[0]
    return bool(address_spaces(address, spaces) & LOCAL) if isinstance(address, Address) else True


def address_spaces(address: Address, spaces: tuple[int, ...]) -> int:
    """Space bits a generic address operand may point to; UNKNOWN when nothing is known."""
    if isinstance(address.base, Register):
        return spaces[address.base.index] or UNKNOWN
    if isinstance(address.base, Symbol):
        return _SPACE_BITS[address.base.space]
    return UNKNOWN


def _address_spaces(kernel: Kernel) -> tuple[int, ...]:
    """Flow-insensitive provenance: what is added to a pointer keeps the pointer's space."""
    spaces = [0] * len(kernel.registers)
    changed = True
    while changed:
        changed = False
        for instruction in kernel.instructions:
            bits = _result_space(instruction, spaces)
            for register in written_registers(instruction):
                if bits & ~spaces[register.index]:
                    spaces[register.index] |= bits
                    changed = True
    return tuple(spaces)


def _result_space(instruction: Instruction, spaces: list[int]) -> int:
    opcode = instruction.opcode
    if opcode == "ld":
        address = instruction.sources[0]
        is_parameter = (
            isinstance(address, Address) and isinstance(address.base, Symbol) and address.base.space == "param"
        )
        wide = any(WIDE in instruction.types for WIDE in ("b64", "u64", "s64"))
        return (GLOBAL if is_parameter else UNKNOWN) if wide else 0
    if opcode == "cvta" and "to" not in instruction.modifiers:
        for space, bit in _SPACE_BITS.items():
            if space in instruction.modifiers:
                return bit
    if opcode in ("atom", "shfl", "call"):
        return UNKNOWN
    if opcode not in _POINTER_OPS:
        return 0
    bits = 0
    for operand in instruction.sources:
        for register in registers_of(operand):
            bits |= spaces[register.index]
        if isinstance(operand, Symbol) and opcode != "mov":
            bits |= _SPACE_BITS[operand.space]
        if isinstance(operand, Address) and isinstance(operand.base, Symbol):
            bits |= _SPACE_BITS[operand.base.space]
    return bits


def divisor_of(opcode: str, amount: Immediate) -> int:
    """What div or shr by a constant divides a thread index by.

    The amount of a shift counts as unsigned, and from 31 on there is no difference here.
    """
    return amount.value if opcode == "div" else 1 << min(amount.value & 0xFFFF_FFFF, 31)


def _warp_quotients(kernel: Kernel) -> frozenset[int]:
    """Instructions that divide tid.x by a multiple of 32 (div or shr of an unsigned copy of it)."""
    copies: dict[int, bool] = {}
    for instruction in kernel.instructions:
        for register in written_registers(instruction):
            source = instruction.sources[0] if instruction.sources else None
            is_copy = (
                instruction.opcode == "mov"
                and instruction.guard is None
                and isinstance(source, Special)
                and source.name == "tid.x"
            )
            copies[register.index] = is_copy and copies.get(register.index, True)
    found = set()
    for index, instruction in enumerate(kernel.instructions):
        if instruction.opcode not in ("div", "shr") or instruction.guard is not None:
            continue
        value, amount = instruction.sources[:2]
        if not (isinstance(value, Register) and copies.get(value.index) and isinstance(amount, Immediate)):
            continue
        step = divisor_of(instruction.opcode, amount)
        if instruction.types in (("u32",), ("s32",), ("b32",)) and step > 0 and step % 32 == 0:
            found.add(index)
    return frozenset(found)


class _MeetingPoints:
    """For every branch, the blocks its arms may run apart in."""

    def __init__(self, kernel: Kernel, blocks: list[Block]) -> None:
        self._kernel = kernel
        self._blocks = blocks
        self._edges = [[s for s in b.successors if s != EXIT] for b in blocks]
        self._pruned = [list(e) for e in self._edges]
        self._dominators = post_dominators(self._pruned)
        while self._prune_exit_arms():
            self._dominators = post_dominators(self._pruned)

    def region(self, block: int) -> tuple[set[int], int]:
        """(blocks lanes may run apart in after a branch, the block they meet at or EXIT)."""
        arms = self._pruned[block]
        if len(set(arms)) < 2:
            return set(), EXIT
        meeting = self._dominators[block]
        region: set[int] = set()
        for arm in arms:
            region |= reachable(arm, self._edges, stop=meeting)
        return region, meeting

    def _prune_exit_arms(self) -> bool:
        """Cut arms that only lead out of the kernel, so that they do not hide where the rest meets."""
        for block, arms in enumerate(self._pruned):
            if len(set(arms)) < 2 or self._dominators[block] != EXIT:
                continue
            candidates = []
            for arm in set(arms):
                rest = [list(e) for e in self._pruned]
                rest[block] = [a for a in arms if a != arm]
                away = reachable(arm, rest)
                stay: set[int] = set()
                for other in rest[block]:
                    stay |= reachable(other, rest)
                leaves = any(self._leaves(b, rest) for b in stay)
                if away.isdisjoint(stay) and leaves and not any(self._waits(b) for b in away):
                    candidates.append((len(away), arm))
            if candidates:
                _, arm = min(candidates)
                self._pruned[block] = [a for a in arms if a != arm]
                return True
        return False

    def _leaves(self, block: int, edges: list[list[int]]) -> bool:
        return not edges[block] or EXIT in self._blocks[block].successors

    def _waits(self, block: int) -> bool:
        code = self._kernel.instructions[self._blocks[block].start : self._blocks[block].end]
        return any(is_barrier(i) or i.opcode in ("bar", "barrier", "shfl", "vote", "match", "redux") for i in code)
