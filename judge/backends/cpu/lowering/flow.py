"""Basic blocks of a kernel, their liveness and post-dominators.

Blocks end at branches, exits and CTA barriers. A branch to a block that only returns is an exit
edge: lanes that take it are gone and constrain nobody.
"""

from dataclasses import dataclass, field

from judge.backends.cpu.ir import Address, Instruction, Kernel, Operand, Register, Target, Vector

EXIT = -1


@dataclass
class Block:
    """Instructions [start, end). successors: block numbers or EXIT, the fall-through last.

    live_in, live_out: bit sets of register indices.
    """

    number: int
    start: int
    end: int
    successors: list[int] = field(default_factory=list)
    live_in: int = 0
    live_out: int = 0


def is_barrier(instruction: Instruction) -> bool:
    """A CTA-wide barrier that lanes wait at (not bar.arrive, not bar.warp.sync)."""
    if instruction.opcode not in ("bar", "barrier"):
        return False
    return "warp" not in instruction.modifiers and "arrive" not in instruction.modifiers


def is_warp_barrier(instruction: Instruction) -> bool:
    return instruction.opcode in ("bar", "barrier") and "warp" in instruction.modifiers


def makes_wait(instruction: Instruction) -> bool:
    return is_barrier(instruction) or is_warp_barrier(instruction)


def ends_block(instruction: Instruction) -> bool:
    return instruction.opcode in ("bra", "brx", "ret", "exit", "trap") or makes_wait(instruction)


def registers_of(operand: Operand | None) -> list[Register]:
    if isinstance(operand, Register):
        return [operand]
    if isinstance(operand, Address):
        return [operand.base] if isinstance(operand.base, Register) else []
    if isinstance(operand, Vector):
        return [e for e in operand.elements if isinstance(e, Register)]
    return []


def read_registers(instruction: Instruction) -> list[Register]:
    """Registers an instruction reads: sources, addresses among destinations, the guard."""
    found = [r for operand in instruction.sources for r in registers_of(operand)]
    found += [r for operand in instruction.destinations if isinstance(operand, Address) for r in registers_of(operand)]
    if instruction.guard is not None:
        found.append(instruction.guard.register)
    return found


def written_registers(instruction: Instruction) -> list[Register]:
    return [
        r for operand in instruction.destinations if not isinstance(operand, Address) for r in registers_of(operand)
    ]


def split_blocks(kernel: Kernel) -> list[Block]:
    """The basic blocks in program order, with successors and liveness."""
    code = kernel.instructions
    leaders = {0}
    for index, instruction in enumerate(code):
        leaders.update(s.index for s in instruction.sources if isinstance(s, Target))
        if ends_block(instruction):
            leaders.add(index + 1)
    starts = sorted(leader for leader in leaders if leader < len(code))
    blocks = [
        Block(number, start, end)
        for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(code)], strict=True))
    ]
    number_at = {block.start: block.number for block in blocks}
    for block in blocks:
        block.successors = _successors(kernel, block, number_at)
    blocks = _merge_chains(kernel, blocks)
    returning = {
        b.number
        for b in blocks
        if b.successors == [EXIT] and b.end - b.start == 1 and kernel.instructions[b.start].opcode != "trap"
    }
    for block in blocks:
        if not makes_wait(kernel.instructions[block.end - 1]):  # lanes wait at a barrier even before they leave
            block.successors = [EXIT if s in returning else s for s in block.successors]
    _liveness(kernel, blocks)
    return blocks


def _merge_chains(kernel: Kernel, blocks: list[Block]) -> list[Block]:
    """Join a block to the next one when nothing else leads there: fewer values cross blocks."""
    entries = [0] * len(blocks)
    for block in blocks:
        for s in block.successors:
            if s != EXIT:
                entries[s] += 1
    kept: list[Block] = []
    number: dict[int, int] = {EXIT: EXIT}
    for block in blocks:
        previous = kept[-1] if kept else None
        if (
            previous is not None
            and previous.successors == [block.number]
            and entries[block.number] == 1
            and not makes_wait(kernel.instructions[previous.end - 1])
        ):
            previous.end = block.end
            previous.successors = block.successors
            number[block.number] = len(kept) - 1
            continue
        number[block.number] = len(kept)
        kept.append(block)
    for position, block in enumerate(kept):
        block.number = position
        block.successors = [number[s] for s in block.successors]
    return kept


def _successors(kernel: Kernel, block: Block, number_at: dict[int, int]) -> list[int]:
    last = kernel.instructions[block.end - 1]
    following = number_at.get(block.end, EXIT)
    targets = [number_at.get(s.index, EXIT) for s in last.sources if isinstance(s, Target)]
    if last.opcode in ("bra", "brx"):
        return [*targets, following] if last.guard is not None else targets
    if last.opcode in ("ret", "exit", "trap"):
        return [EXIT, following] if last.guard is not None else [EXIT]
    return [following]


def _liveness(kernel: Kernel, blocks: list[Block]) -> None:
    uses: list[int] = []
    kills: list[int] = []
    for block in blocks:
        used = killed = 0
        for instruction in kernel.instructions[block.start : block.end]:
            for register in read_registers(instruction):
                if not killed >> register.index & 1:
                    used |= 1 << register.index
            for register in written_registers(instruction):
                if instruction.guard is None:
                    killed |= 1 << register.index
                elif not killed >> register.index & 1:
                    used |= 1 << register.index
        uses.append(used)
        kills.append(killed)
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            out = 0
            for successor in block.successors:
                if successor != EXIT:
                    out |= blocks[successor].live_in
            live_in = uses[block.number] | (out & ~kills[block.number])
            if out != block.live_out or live_in != block.live_in:
                block.live_out, block.live_in = out, live_in
                changed = True


def reachable(start: int, edges: list[list[int]], stop: int = EXIT) -> set[int]:
    """Blocks on paths from `start`, itself included, that do not pass `stop`."""
    seen: set[int] = set()
    stack = [start]
    while stack:
        block = stack.pop()
        if block in (EXIT, stop) or block in seen:
            continue
        seen.add(block)
        stack.extend(edges[block])
    return seen


def post_dominators(edges: list[list[int]]) -> list[int]:
    """Immediate post-dominator of every block, EXIT for none (Cooper, Harvey and Kennedy, 2001).

    Exit edges are left out: a lane that exits needs no place to meet. Blocks without any other
    successor, and blocks in endless loops, lead to a virtual exit.
    """
    count = len(edges)
    virtual = count
    forward = [[s for s in succ if s != EXIT] or [virtual] for succ in edges]
    backward: list[list[int]] = [[] for _ in range(count + 1)]
    for block, succ in enumerate(forward):
        for s in succ:
            backward[s].append(block)
    order = _postorder(virtual, backward, count + 1)
    for block in range(count):
        if order[block] < 0:  # in an endless loop: nothing is known of where it leads
            forward[block] = [*forward[block], virtual]
            backward[virtual].append(block)
    order = _postorder(virtual, backward, count + 1)
    dominator: list[int | None] = [None] * (count + 1)
    dominator[virtual] = virtual
    walk = sorted(range(count), key=lambda b: -order[b])

    def intersect(a: int, b: int) -> int:
        while a != b:
            while order[a] < order[b]:
                a = dominator[a]  # type: ignore[assignment]
            while order[b] < order[a]:
                b = dominator[b]  # type: ignore[assignment]
        return a

    changed = True
    while changed:
        changed = False
        for block in walk:
            known = [s for s in forward[block] if dominator[s] is not None]
            if not known:
                continue
            new = known[0]
            for s in known[1:]:
                new = intersect(s, new)
            if dominator[block] != new:
                dominator[block] = new
                changed = True
    return [EXIT if d is None or d == virtual else d for d in dominator[:count]]


def _postorder(root: int, edges: list[list[int]], count: int) -> list[int]:
    order = [-1] * count
    seen = {root}
    stack = [(root, iter(edges[root]))]
    clock = 0
    while stack:
        block, successors = stack[-1]
        for s in successors:
            if s not in seen:
                seen.add(s)
                stack.append((s, iter(edges[s])))
                break
        else:
            stack.pop()
            order[block] = clock
            clock += 1
    return order
