"""Which registers hold one value for the whole warp, and which blocks all live lanes run together.

A register is uniform when every definition has uniform operands and sits in a uniform block. A
block is divergent when a branch on a varying predicate lies between it and the place where both
arms meet again (the branch's post-dominator).

Safety does not rest on this analysis: generated code enters a uniform block only when all live
lanes of the warp stand at it, so a wrong guess shows as STUCK, and the launch is run again with
everything varying. Only a kernel that may spin on memory (a loop whose exit hangs on an atomic or
volatile read) is lowered as varying from the start, because there one lane waits for another.
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

GLOBAL, SHARED, LOCAL = 1, 2, 4
UNKNOWN = GLOBAL | SHARED | LOCAL
_SPACE_BITS = {"shared": SHARED, "local": LOCAL, "global": GLOBAL, "const": GLOBAL, "param": GLOBAL}

_VARYING_SPECIALS = {"tid.x", "tid.y", "tid.z", "laneid"}
_POINTER_OPS = {"add", "sub", "mov", "cvta", "cvt", "selp", "and", "or", "xor", "mad", "min", "max", "slct"}
_MEMORY_ORDERED = {"volatile", "relaxed", "acquire", "mmio"}


@dataclass(frozen=True)
class Uniformity:
    """varying: bit set of register indices. divergent: block numbers.

    spaces: per register index, which state spaces a generic address in it may point to (GLOBAL,
    SHARED, LOCAL bits). warp_index: registers that hold thread index / 32k of a one-dimensional
    CTA, by instruction index. all_varying: the kernel is lowered without scalar registers.
    """

    varying: int
    divergent: frozenset[int]
    spaces: tuple[int, ...]
    warp_quotients: frozenset[int]
    all_varying: bool

    def is_varying(self, register: Register) -> bool:
        return bool(self.varying >> register.index & 1)


def analyze(kernel: Kernel, blocks: list[Block], *, one_dimensional: bool, all_varying: bool = False) -> Uniformity:
    """one_dimensional: ntid.y = ntid.z = 1, so that tid.x = 32 * warp + lane."""
    spaces = _address_spaces(kernel)
    everything = (1 << len(kernel.registers)) - 1
    every_block = frozenset(b.number for b in blocks)
    quotients = _warp_quotients(kernel) if one_dimensional else frozenset()
    if all_varying:
        return Uniformity(everything, every_block, spaces, frozenset(), True)
    varying, divergent = _fixpoint(kernel, blocks, spaces, quotients, one_dimensional)
    if _may_spin(kernel, blocks, varying):
        return Uniformity(everything, every_block, spaces, frozenset(), True)
    return Uniformity(varying, frozenset(divergent), spaces, quotients, False)


def _fixpoint(
    kernel: Kernel, blocks: list[Block], spaces: tuple[int, ...], quotients: frozenset[int], one_dimensional: bool
) -> tuple[int, set[int]]:
    meeting = _MeetingPoints(kernel, blocks)
    varying = 0
    divergent: set[int] = set()
    branched: set[int] = set()
    changed = True
    while changed:
        changed = False
        for block in blocks:
            inside = block.number in divergent
            for index in range(block.start, block.end):
                instruction = kernel.instructions[index]
                if not instruction.destinations or (index in quotients and not inside):
                    continue
                if inside or _makes_varying(instruction, varying, spaces, one_dimensional):
                    for register in written_registers(instruction):
                        if not varying >> register.index & 1:
                            varying |= 1 << register.index
                            changed = True
            if block.number not in branched and _branches_apart(kernel.instructions[block.end - 1], varying):
                branched.add(block.number)
                region = meeting.region(block.number)
                if not region <= divergent:
                    divergent |= region
                    changed = True
    return varying, divergent


def _branches_apart(last: Instruction, varying: int) -> bool:
    if last.opcode == "brx":
        return any(varying >> r.index & 1 for r in read_registers(last))
    guarded = last.guard is not None and last.opcode in ("bra", "ret", "exit", "trap")
    return guarded and bool(varying >> last.guard.register.index & 1) if last.guard else False


def _makes_varying(instruction: Instruction, varying: int, spaces: tuple[int, ...], one_dimensional: bool) -> bool:
    opcode = instruction.opcode
    if opcode in ("atom", "call", "shfl", "match", "ldmatrix", "mma", "wmma"):
        return True
    if opcode == "ld" and _may_be_local(instruction, spaces):
        return True
    if opcode in ("activemask", "bar", "barrier"):
        return False
    if opcode in ("vote", "redux"):  # one result for all members of one mask
        return any(varying >> r.index & 1 for operand in instruction.sources[1:] for r in registers_of(operand))
    for operand in instruction.sources:
        if isinstance(operand, Special) and _special_varies(operand.name, one_dimensional):
            return True
    return any(varying >> r.index & 1 for r in read_registers(instruction))


def _special_varies(name: str, one_dimensional: bool) -> bool:
    if one_dimensional and name in ("tid.y", "tid.z"):
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
        step = amount.value if instruction.opcode == "div" else 1 << min(amount.value, 31)
        if instruction.types in (("u32",), ("s32",), ("b32",)) and step > 0 and step % 32 == 0:
            found.add(index)
    return frozenset(found)


def _may_spin(kernel: Kernel, blocks: list[Block], varying: int) -> bool:
    """Whether a divergent loop exit hangs on memory another lane of the warp may write."""
    tainted = 0
    changed = True
    while changed:
        changed = False
        for instruction in kernel.instructions:
            ordered = instruction.opcode == "atom" or (
                instruction.opcode == "ld" and not _MEMORY_ORDERED.isdisjoint(instruction.modifiers)
            )
            if ordered or any(tainted >> r.index & 1 for r in read_registers(instruction)):
                for register in written_registers(instruction):
                    if not tainted >> register.index & 1:
                        tainted |= 1 << register.index
                        changed = True
    if not tainted:
        return False
    edges = [b.successors for b in blocks]
    for block in blocks:
        last = kernel.instructions[block.end - 1]
        if last.guard is None or last.opcode != "bra" or not (tainted & varying) >> last.guard.register.index & 1:
            continue
        if any(s != EXIT and block.number in reachable(s, edges) for s in block.successors):
            return True
    return False


class _MeetingPoints:
    """For every branch, the blocks its arms may run apart in."""

    def __init__(self, kernel: Kernel, blocks: list[Block]) -> None:
        self._kernel = kernel
        self._blocks = blocks
        self._edges = [[s for s in b.successors if s != EXIT] for b in blocks]
        self._pruned = [list(e) for e in self._edges]
        self._exit_arms: dict[int, set[int]] = {}
        self._dominators = post_dominators(self._pruned)
        while self._prune_exit_arms():
            self._dominators = post_dominators(self._pruned)

    def region(self, block: int) -> set[int]:
        arms = self._edges[block]
        if len(set(arms)) < 2:
            return set()
        if block in self._exit_arms:
            region = set(self._exit_arms[block])
            remaining = self._pruned[block]
            if len(set(remaining)) < 2:
                return region
            arms = remaining
        else:
            region = set()
        meeting = self._dominators[block]
        for arm in arms:
            region |= reachable(arm, self._edges, stop=meeting)
        return region

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
                    candidates.append((len(away), arm, away))
            if candidates:
                _, arm, away = min(candidates)
                self._pruned[block] = [a for a in arms if a != arm]
                self._exit_arms.setdefault(block, set()).update(away)
                return True
        return False

    def _leaves(self, block: int, edges: list[list[int]]) -> bool:
        return not edges[block] or EXIT in self._blocks[block].successors

    def _waits(self, block: int) -> bool:
        code = self._kernel.instructions[self._blocks[block].start : self._blocks[block].end]
        return any(is_barrier(i) or i.opcode in ("bar", "barrier", "shfl", "vote", "match", "redux") for i in code)
