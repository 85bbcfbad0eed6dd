"""Which volatile stores are a flag's.

`volatile` keeps the compiler from caching a value; it makes no update whole and orders nothing. What threads do
use it for is a flag that others poll. So a volatile store is taken for one of those strong operations that never
race with each other where the variable is a flag: a loop is left by what a volatile load of it gave, an atomic
works on it, or the store is of a constant, as setting and clearing a flag is. Any other volatile store is watched
like a plain one: `*count = *count + 1` by two threads loses an update, volatile or not. What says relaxed says that it
is atomic.
"""

from judge.backends.cpu.ir import Address, Immediate, Instruction, Kernel, Register, Symbol
from judge.backends.cpu.lowering.flow import EXIT, Block, reachable, read_registers, registers_of, written_registers

_LOOSE = frozenset({"volatile"})
_POLLED = frozenset({"volatile", "relaxed", "mmio", "acquire"})
_ATOMIC = frozenset({"atom", "red"})
_PARAMETER = "param"

Root = tuple[str, int]
"""What an address is made from: a variable's space and place, a kernel parameter; ("", -1) when that is not known."""

UNKNOWN: Root = ("", -1)


def loose_stores(kernel: Kernel, blocks: list[Block]) -> frozenset[int]:
    """Indices of the volatile stores that are no flag's."""
    code = kernel.instructions
    stores = [k for k, i in enumerate(code) if i.opcode == "st" and _LOOSE & set(i.modifiers)]
    if not stores:
        return frozenset()
    trace = _Trace(kernel)
    flags = _polled(kernel, blocks, trace)
    for instruction in code:
        if instruction.opcode in _ATOMIC:
            flags |= trace.roots_of(instruction)
    found = set()
    for index in stores:
        roots = trace.roots_of(code[index])
        flag = bool(roots & flags) or UNKNOWN in flags or (UNKNOWN in roots and bool(flags))
        if not flag and not trace.is_constant(_stored(code[index])):
            found.add(index)
    return frozenset(found)


def _stored(store: Instruction) -> object:
    return (*store.destinations, *store.sources)[1]


def _polled(kernel: Kernel, blocks: list[Block], trace: "_Trace") -> set[Root]:
    """Roots of the variables whose volatile loads decide when a loop ends."""
    found: set[Root] = set()
    edges = [block.successors for block in blocks]
    ahead = [reachable_from(number, edges) for number in range(len(blocks))]
    place = {index: block.number for block in blocks for index in range(block.start, block.end)}
    for index, instruction in enumerate(kernel.instructions):
        if instruction.opcode != "ld" or not _POLLED & set(instruction.modifiers):
            continue
        here = place[index]
        if here not in ahead[here]:
            continue
        for branch in trace.branches_on(instruction):
            there = place[branch]
            leaves = any(s == EXIT or (s != here and here not in ahead[s]) for s in blocks[there].successors)
            if (there == here or there in ahead[here]) and leaves:
                found |= trace.roots_of(instruction)
    return found


def reachable_from(number: int, edges: list[list[int]]) -> set[int]:
    """Blocks that some path of one branch or more leads to."""
    seen: set[int] = set()
    for successor in edges[number]:
        if successor != EXIT and successor not in seen:
            seen |= reachable(successor, edges)
    return seen


class _Trace:
    """Where values come from and go to, over all definitions of a register."""

    def __init__(self, kernel: Kernel) -> None:
        self.code = kernel.instructions
        self.writers: dict[int, list[Instruction]] = {}
        self.readers: dict[int, list[int]] = {}
        for index, instruction in enumerate(self.code):
            for register in written_registers(instruction):
                self.writers.setdefault(register.index, []).append(instruction)
            for register in dict.fromkeys(read_registers(instruction)):
                self.readers.setdefault(register.index, []).append(index)

    def roots_of(self, instruction: Instruction) -> set[Root]:
        operands = (*instruction.destinations, *instruction.sources)
        address = next((o for o in operands if isinstance(o, Address)), None)
        if address is None or address.base is None:
            return {UNKNOWN}
        if isinstance(address.base, Symbol):
            return {(address.base.space, address.base.offset)}
        return self._roots(address.base)

    def _roots(self, register: Register) -> set[Root]:
        """The pointers a value is made from; a number that was computed is none."""
        found: set[Root] = set()
        seen = {register.index}
        waiting = [register.index]
        while waiting:
            for writer in self.writers.get(waiting.pop(), []):
                if writer.opcode == "ld":
                    found |= self._loaded(writer)
                    continue
                for source in writer.sources:
                    if isinstance(source, Symbol):
                        found.add((source.space, source.offset))
                    elif isinstance(source, Register) and source.index not in seen:
                        seen.add(source.index)
                        waiting.append(source.index)
        return found or {UNKNOWN}

    def _loaded(self, load: Instruction) -> set[Root]:
        """A kernel parameter is a root of its own; a number from memory is part of an index, a pointer is unknown."""
        address = load.sources[0]
        if isinstance(address, Address) and isinstance(address.base, Symbol) and address.base.space == _PARAMETER:
            return {(_PARAMETER, address.base.offset + address.offset)} if load.types[-1].endswith("64") else set()
        return {UNKNOWN} if load.types[-1].endswith("64") else set()

    def branches_on(self, load: Instruction) -> set[int]:
        """Branches whose condition is computed from what a load gives."""
        found: set[int] = set()
        seen = {r.index for o in load.destinations for r in registers_of(o)}
        waiting = list(seen)
        while waiting:
            for index in self.readers.get(waiting.pop(), []):
                instruction = self.code[index]
                if instruction.opcode in ("bra", "brx"):
                    found.add(index)
                for register in written_registers(instruction):
                    if instruction.opcode not in ("ld", *_ATOMIC) and register.index not in seen:
                        seen.add(register.index)
                        waiting.append(register.index)
        return found

    def is_constant(self, operand: object) -> bool:
        """Whether a value is written down in the source, as a flag's is."""
        for _ in range(20):
            if isinstance(operand, Immediate):
                return True
            writers = self.writers.get(operand.index, []) if isinstance(operand, Register) else []
            if len(writers) != 1 or writers[0].opcode not in ("mov", "cvt") or len(writers[0].sources) != 1:
                return False
            operand = writers[0].sources[0]
        return False
