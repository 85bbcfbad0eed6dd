"""atom and red: read, combine, write, one lane after another in lane order.

Subnormal f32 operands are kept; the hardware's flushing of atom.add.f32 in global memory is a
property of today's implementation, which the PTX ISA names as such.
"""

from collections.abc import Callable

import numpy as np

from judge.backends.cpu import ir
from judge.backends.cpu.interpreter.access import access_space, address_of, checked, from_bytes, parts, to_bytes
from judge.backends.cpu.interpreter.floats import choose
from judge.backends.cpu.interpreter.integers import FLOAT_TYPES
from judge.backends.cpu.interpreter.rounding import decode, encode, format_of, fused, round_to
from judge.backends.cpu.interpreter.state import Step, signed_list
from judge.backends.cpu.interpreter.table import executes
from judge.backends.cpu.refusal import NotEmulatedError

_OPERATIONS = ("and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max")
_INTEGER: dict[str, Callable[[int, int], int]] = {
    "and": lambda old, b: old & b,
    "or": lambda old, b: old | b,
    "xor": lambda old, b: old ^ b,
    "exch": lambda old, b: b,
    "add": lambda old, b: old + b,
    "inc": lambda old, b: 0 if old >= b else old + 1,
    "dec": lambda old, b: b if old == 0 or old > b else old - 1,
    "min": min,
    "max": max,
}


def _combine(operation: str, type_: str, old: int, operand: int, swap: int) -> int:
    """New bits from the old bits in memory; swap is the third operand of cas."""
    if operation == "cas":
        return swap if old == operand else old
    if type_ in FLOAT_TYPES:
        return operand if operation == "exch" else _combine_floats(operation, type_, old, operand)
    bits = ir.WIDTHS[type_]
    if type_[0] == "s":
        old, operand = (signed_list(np.array([v], dtype=np.uint64), bits)[0] for v in (old, operand))
    return _INTEGER[operation](old, operand) & ((1 << bits) - 1)


def _combine_floats(operation: str, type_: str, old: int, operand: int) -> int:
    format_, elements = format_of(type_)
    mask = (1 << format_.bits) - 1
    result = 0
    for element in range(elements):
        shift = format_.bits * element
        pair = np.array([[old >> shift & mask], [operand >> shift & mask]], dtype=np.uint64)
        a, b = decode(pair, format_)
        if operation == "add":
            total = a + b if type_ == "f64" else round_to(fused(a, np.ones_like(a), b, "rn"), format_)
        elif operation in ("min", "max"):
            total = choose(a, b, larger=operation == "max", nan_wins=False)
        else:
            raise NotEmulatedError(f"atom.{operation}.{type_}")
        result |= int(encode(total, format_)[0]) << shift
    return result


@executes("atom", "red")
def atomic(step: Step) -> None:
    """A vector form updates each element by itself."""
    type_ = step.instruction.types[-1]
    operation = next(m for m in step.modifiers if m in _OPERATIONS)
    width = ir.WIDTHS[type_] // 8
    if step.instruction.opcode == "red":
        destination = None
        operands = [o for o in (*step.instruction.destinations, *step.instruction.sources) if o is not None]
    else:
        destination = step.instruction.destinations[0]
        operands = list(step.instruction.sources)
    address, values = operands[0], operands[1]
    swaps = operands[2] if operation == "cas" else None
    columns = values.elements if isinstance(values, ir.Vector) else (values,)
    size = width * len(columns)
    old = np.zeros((len(step.lanes), len(columns)), dtype=np.uint64)
    new_values = [step.raw(c, type_) for c in columns if c is not None]
    swap_values = step.raw(swaps, type_) if swaps is not None else np.zeros(len(step.lanes), dtype=np.uint64)
    for part in parts(step, access_space(step, address), address_of(step, address)):
        good = checked(step, part, size, "atomic")
        if part.block is None:
            continue
        for place in np.flatnonzero(good).tolist():
            lane = int(part.positions[place])
            for column, operand in enumerate(new_values):
                start = int(part.starts[place] + part.offsets[place]) + column * width
                cell = part.block[start : start + width]
                before = int(from_bytes(cell[np.newaxis, :])[0])
                after = _combine(operation, type_, before, int(operand[lane]), int(swap_values[lane]))
                cell[:] = to_bytes(np.array([after], dtype=np.uint64), width)[0]
                old[lane, column] = before
    targets = destination.elements if isinstance(destination, ir.Vector) else (destination,)
    for column, target in enumerate(targets):
        step.write_raw(target, type_, old[:, column])
