"""Branches whose way is fixed by constants, and the code they never reach.

A header's `switch (size)` expanded in place is thousands of instructions of which a few can run: the size is a
constant that the call handed over. A branch is decided here when its condition follows from constants, each from
the one instruction that writes it; it stays in its place as a jump, so counts of what runs do not change. A
register that some path leaves without a value decides nothing: its use is for the detectors to find.
"""

from collections.abc import Iterable

from judge.backends.cpu import ir
from judge.backends.cpu.lowering.flow import registers_of, split_blocks, written_registers

MAX_DEPTH = 200
_ENDS = frozenset({"ret", "exit", "trap", "refused"})
_SIGNED = frozenset({"s8", "s16", "s32", "s64"})
_COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lo": lambda a, b: a < b,
    "ls": lambda a, b: a <= b,
    "hi": lambda a, b: a > b,
    "hs": lambda a, b: a >= b,
}

Known = int | str
"""What is known of a register: its bits, or the state space its generic address lies in."""


def fold_branches(
    registers: tuple[ir.Register, ...], instructions: list[ir.Instruction]
) -> tuple[tuple[ir.Register, ...], list[ir.Instruction]]:
    """Registers and instructions without what cannot run; as they were where nothing is decided or refused."""
    if first_refusal(instructions) is not None:
        instructions = _without(instructions, _reached(instructions))
    while decided := _decided(registers, instructions):
        instructions = [decided.get(index, i) for index, i in enumerate(instructions)]
        instructions = _without(instructions, _reached(instructions))
    return _renumbered(registers, instructions)


def _decided(registers: tuple[ir.Register, ...], instructions: list[ir.Instruction]) -> dict[int, ir.Instruction]:
    """The branches with a known way, as jumps."""
    values = _Values(instructions)
    found: dict[int, tuple[ir.Instruction, set[int]]] = {}
    for index, instruction in enumerate(instructions):
        jump = _jump(values, index, instruction)
        if jump is not None:
            found[index] = jump
    if not found:
        return {}
    doubtful = _doubtful(registers, instructions)
    return {index: jump for index, (jump, used) in found.items() if not used & doubtful}


def _jump(values: "_Values", index: int, instruction: ir.Instruction) -> tuple[ir.Instruction, set[int]] | None:
    """What a branch comes to, and the registers that decided it."""
    target: int | None = None
    used: set[int] = set()
    if instruction.opcode == "bra" and instruction.guard is not None:
        known = values.of(instruction.guard.register, used)
        if not isinstance(known, int):
            return None
        taken = bool(known) != instruction.guard.negated
        target = _index_of(instruction.sources[0]) if taken else index + 1
    elif instruction.opcode == "brx" and instruction.guard is None:
        selector = values.of(instruction.sources[0], used)
        if not isinstance(selector, int) or selector >= len(instruction.sources) - 1:
            return None
        target = _index_of(instruction.sources[1 + selector])
    if target is None:
        return None
    return ir.Instruction("bra", ("uni",), (), (ir.Target(target),), None, instruction.location), used


def _index_of(operand: ir.Operand) -> int:
    assert isinstance(operand, ir.Target)
    return operand.index


def _doubtful(registers: tuple[ir.Register, ...], instructions: list[ir.Instruction]) -> set[int]:
    """Registers some path reads before it gives them a value."""
    code = tuple(i if i.opcode != "refused" else ir.Instruction("trap", (), (), ()) for i in instructions)
    kernel = ir.Kernel("", registers, code, (), 0, (), 0, (), 0)
    live = split_blocks(kernel)[0].live_in
    return {register.index for register in registers if live >> register.index & 1}


class _Values:
    """What is known of registers that one unguarded instruction writes."""

    def __init__(self, instructions: list[ir.Instruction]) -> None:
        self.writer: dict[int, ir.Instruction | None] = {}
        self.known: dict[int, tuple[Known | None, set[int]]] = {}
        for instruction in instructions:
            for register in written_registers(instruction):
                single = register.index not in self.writer and instruction.guard is None
                self.writer[register.index] = instruction if single else None

    def of(self, operand: ir.Operand, used: set[int], depth: int = 0) -> Known | None:
        """The value of an operand; the registers it was found through are added to `used`."""
        if isinstance(operand, ir.Immediate):
            return None if operand.float_bits else operand.value
        if not isinstance(operand, ir.Register) or depth > MAX_DEPTH:
            return None
        if operand.index not in self.known:
            self.known[operand.index] = (None, set())  # a value that depends on itself is none
            found: set[int] = {operand.index}
            writer = self.writer.get(operand.index)
            value = None if writer is None else self.computed(writer, operand, found, depth + 1)
            self.known[operand.index] = (value, found)
        value, through = self.known[operand.index]
        used |= through
        return value

    def computed(self, writer: ir.Instruction, result: ir.Register, used: set[int], depth: int) -> Known | None:
        if len(writer.destinations) != 1:
            return None
        if writer.opcode == "cvta" and "to" not in writer.modifiers:
            return next((m.split("::")[0] for m in writer.modifiers if m.split("::")[0] != writer.types[-1]), None)
        rule = _RULES.get(writer.opcode)
        if rule is None:
            return None
        values = [self.of(source, used, depth) for source in writer.sources]
        if writer.opcode in ("add", "sub", "mov") and writer.types == (f"{writer.types[0][0]}64",):
            spaces = [v for v in values if isinstance(v, str)]
            if len(spaces) == 1 and isinstance(values[0], str):
                return spaces[0]
            if len(spaces) == 1 and writer.opcode == "add":
                return spaces[0]
        if writer.opcode == "isspacep":
            space = values[0]
            return int(writer.modifiers[0].split("::")[0] == space) if isinstance(space, str) else None
        numbers = [v for v in values if isinstance(v, int)]
        if len(numbers) != len(values):
            return None
        answer = rule(writer, numbers)
        return None if answer is None else answer & (1 << result.bits) - 1


def _as(value: int, type_: str) -> int:
    """The bits of a value as a number of a type."""
    bits = ir.WIDTHS[type_]
    value &= (1 << bits) - 1
    return value - (1 << bits) if type_ in _SIGNED and value >> bits - 1 else value


def _whole(writer: ir.Instruction) -> str | None:
    """The type of an integer operation without flags that change its result."""
    plain = len(writer.types) == 1 and writer.types[0][0] in "busp" and not {"sat", "cc", "hi"} & set(writer.modifiers)
    return writer.types[0] if plain else None


def _binary(writer: ir.Instruction, values: list[int]) -> int | None:
    type_ = _whole(writer)
    if type_ is None or "wide" in writer.modifiers or len(values) != 2:
        return None
    a, b = (_as(v, type_) for v in values)
    match writer.opcode:
        case "add":
            return a + b
        case "sub":
            return a - b
        case "mul":
            return a * b
        case "and":
            return a & b
        case "or":
            return a | b
        case "xor":
            return a ^ b
        case "min":
            return min(a, b)
        case "max":
            return max(a, b)
        case _:
            return None


def _shift(writer: ir.Instruction, values: list[int]) -> int | None:
    type_ = _whole(writer)
    if type_ is None:
        return None
    bits, amount = ir.WIDTHS[type_], values[1] & 0xFFFF_FFFF
    if writer.opcode == "shl":
        return values[0] << amount if amount < bits else 0
    return _as(values[0], type_) >> min(amount, bits)


def _not(writer: ir.Instruction, values: list[int]) -> int | None:
    return ~values[0] if _whole(writer) is not None else None


def _mov(writer: ir.Instruction, values: list[int]) -> int | None:
    return values[0] if len(writer.types) == 1 and len(values) == 1 else None


def _cvt(writer: ir.Instruction, values: list[int]) -> int | None:
    if len(writer.types) != 2 or len(writer.modifiers) != 2 or any(t[0] not in "us" for t in writer.types):
        return None
    to, from_ = writer.types
    return _as(_as(values[0], from_), to)


def _setp(writer: ir.Instruction, values: list[int]) -> int | None:
    if len(writer.types) != 1 or writer.types[0][0] not in "bus" or len(values) != 2 or len(writer.modifiers) != 2:
        return None
    type_ = writer.types[0]
    compare = _COMPARE.get(writer.modifiers[0])
    if compare is None:
        return None
    if writer.modifiers[0] in ("lo", "ls", "hi", "hs"):
        type_ = "u" + type_[1:]
    return int(compare(_as(values[0], type_), _as(values[1], type_)))


def _selp(writer: ir.Instruction, values: list[int]) -> int | None:
    return (values[0] if values[2] else values[1]) if len(values) == 3 else None


_RULES = {
    **dict.fromkeys(("add", "sub", "mul", "and", "or", "xor", "min", "max"), _binary),
    **dict.fromkeys(("shl", "shr"), _shift),
    "not": _not,
    "mov": _mov,
    "cvt": _cvt,
    "setp": _setp,
    "selp": _selp,
    "isspacep": _mov,
}


def _reached(instructions: list[ir.Instruction]) -> list[int]:
    """Indices of the instructions that some path from the first one reaches, in order."""
    seen = bytearray(len(instructions))
    waiting = [0]
    while waiting:
        index = waiting.pop()
        while index < len(instructions) and not seen[index]:
            seen[index] = 1
            instruction = instructions[index]
            waiting.extend(s.index for s in instruction.sources if isinstance(s, ir.Target))
            always = instruction.guard is None
            if always and (instruction.opcode in _ENDS or instruction.opcode in ("bra", "brx")):
                break
            index += 1
    return [index for index in range(len(instructions)) if seen[index]]


def _without(instructions: list[ir.Instruction], kept: list[int]) -> list[ir.Instruction]:
    """Only the kept ones, branches turned to where their targets went."""
    place = dict(zip(kept, range(len(kept)), strict=True))
    place[len(instructions)] = len(kept)
    return [_turned(instructions[index], place) for index in kept]


def _turned(instruction: ir.Instruction, place: dict[int, int]) -> ir.Instruction:
    if not any(isinstance(source, ir.Target) for source in instruction.sources):
        return instruction
    sources = tuple(ir.Target(place[s.index]) if isinstance(s, ir.Target) else s for s in instruction.sources)
    return ir.Instruction(
        instruction.opcode, instruction.modifiers, (), sources, instruction.guard, instruction.location
    )


def _renumbered(
    registers: tuple[ir.Register, ...], instructions: list[ir.Instruction]
) -> tuple[tuple[ir.Register, ...], list[ir.Instruction]]:
    """Without registers nothing names, when those are many."""
    used: set[int] = set()
    for instruction in instructions:
        used.update(r.index for o in (*instruction.destinations, *instruction.sources) for r in registers_of(o))
        if instruction.guard is not None:
            used.add(instruction.guard.register.index)
    if 2 * len(used) > len(registers):
        return registers, instructions
    fresh = {old: ir.Register(new, registers[old].name, registers[old].type) for new, old in enumerate(sorted(used))}
    return tuple(fresh.values()), [_renamed(i, fresh) for i in instructions]


def _renamed(instruction: ir.Instruction, fresh: dict[int, ir.Register]) -> ir.Instruction:
    guard = instruction.guard
    return ir.Instruction(
        instruction.opcode,
        instruction.modifiers,
        tuple(_operand(o, fresh) for o in instruction.destinations),
        tuple(o for o in (_operand(s, fresh) for s in instruction.sources) if o is not None),
        guard and ir.Guard(fresh[guard.register.index], guard.negated),
        instruction.location,
    )


def _operand(operand: ir.Operand | None, fresh: dict[int, ir.Register]) -> ir.Operand | None:
    match operand:
        case ir.Register():
            return fresh[operand.index]
        case ir.Address(base=ir.Register() as base):
            return ir.Address(fresh[base.index], operand.offset)
        case ir.Vector():
            return ir.Vector(tuple(_element(e, fresh) for e in operand.elements))
        case _:
            return operand


def _element(
    element: "ir.Register | ir.Immediate | None", fresh: dict[int, ir.Register]
) -> "ir.Register | ir.Immediate | None":
    return fresh[element.index] if isinstance(element, ir.Register) else element


def first_refusal(instructions: Iterable[ir.Instruction]) -> ir.Instruction | None:
    """The first instruction that only a GPU runs; its one modifier is what it is called."""
    return next((i for i in instructions if i.opcode == "refused"), None)
