"""Copies that take bytes without a value along.

A struct is copied word by word, its padding and unset members too, and that is nobody's mistake: only who uses
such bytes later is at fault. So a load whose values do nothing but be stored again in the same basic block is
not told. Where it finds lanes without a value, its stores mark the same lanes of their destination as never
written (runtime_unset.py); a copy into an output is a use.
"""

from dataclasses import dataclass, field

from judge.backends.cpu.ir import WIDTHS, Address, Instruction, Kernel, Register, Vector
from judge.backends.cpu.lowering.copies import in_library, is_move
from judge.backends.cpu.lowering.flow import Block, read_registers, written_registers
from judge.backends.cpu.lowering.values import Value

_EXCEPT = {"volatile", "relaxed", "acquire", "release", "mmio", "param", "const"}

Source = tuple[int, int]
"""The load, and which element of it."""


@dataclass
class Carried:
    """loads: those that only copy. stores: what each element of a store was loaded as, None for anything else.

    unset: while a block is lowered, of each loaded element and 4-byte word of it the lanes without a value.
    """

    loads: set[int] = field(default_factory=set)
    stores: dict[int, tuple[Source | None, ...]] = field(default_factory=dict)
    unset: dict[tuple[int, int, int], Value] = field(default_factory=dict)
    places: dict[int, Value] = field(default_factory=dict)
    """The generic address each load read from."""


def carried_copies(kernel: Kernel, blocks: list[Block]) -> Carried:
    """The copies of a kernel. Whatever crosses a block, a guard or a second definition counts as no copy."""
    writers: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    for index, instruction in enumerate(kernel.instructions):
        for register in written_registers(instruction):
            writers[register.index] = writers.get(register.index, 0) + 1
        for register in dict.fromkeys(read_registers(instruction)):
            readers.setdefault(register.index, []).append(index)
    carried = Carried()
    stores: dict[int, dict[int, Source]] = {}
    for block in blocks:
        for index in range(block.start, block.end):
            ends = _ends(kernel, block, index, writers, readers)
            if ends is None:
                continue
            carried.loads.add(index)
            for store, position, source in ends:
                stores.setdefault(store, {})[position] = source
    for store, sources in stores.items():
        carried.stores[store] = tuple(sources.get(k) for k in range(len(_elements(_value_of(kernel, store)))))
    return carried


def _ends(
    kernel: Kernel, block: Block, index: int, writers: dict[int, int], readers: dict[int, list[int]]
) -> list[tuple[int, int, Source]] | None:
    """(store, element of it, source) of all that becomes of a load's values; None where they are used."""
    load = kernel.instructions[index]
    if load.opcode != "ld" or not _plain(load) or in_library(load):
        return None
    ends: list[tuple[int, int, Source]] = []
    waiting: list[tuple[Register, int, Source]] = []
    for element, operand in enumerate(_elements(load.destinations[0])):
        if isinstance(operand, Register):
            waiting.append((operand, index, (index, element)))
    while waiting:
        register, written, source = waiting.pop()
        if writers[register.index] != 1:
            return None
        for use in readers.get(register.index, []):
            instruction = kernel.instructions[use]
            if not written < use < block.end or instruction.guard is not None:
                return None
            if is_move(instruction):
                target = instruction.destinations[0]
                assert isinstance(target, Register)
                waiting.append((target, use, source))
                continue
            if not _stores(instruction, register) or _bits(instruction) != _bits(load):
                return None
            elements = _elements(_value_of(kernel, use))
            ends += [(use, k, source) for k, e in enumerate(elements) if e == register]
    return ends


def _plain(instruction: Instruction) -> bool:
    """No guard, no order, memory that may be without a value."""
    return instruction.guard is None and not _EXCEPT & set(instruction.modifiers) and _bits(instruction) <= 64


def _stores(instruction: Instruction, register: Register) -> bool:
    """Whether it stores the register's value and does not use it as an address."""
    if instruction.opcode != "st" or not _plain(instruction):
        return False
    operands = (*instruction.destinations, *instruction.sources)
    address = operands[0]
    return isinstance(address, Address) and address.base != register


def _value_of(kernel: Kernel, store: int) -> object:
    instruction = kernel.instructions[store]
    return (*instruction.destinations, *instruction.sources)[1]


def _elements(operand: object) -> tuple[object, ...]:
    return operand.elements if isinstance(operand, Vector) else (operand,)


def _bits(instruction: Instruction) -> int:
    return WIDTHS[instruction.types[-1]]
