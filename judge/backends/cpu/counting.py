"""From block counters to figures: every block's instruction mix times how often it ran.

Counting per block is exact and nearly free; an instruction under a guard has a counter of its own,
because only some of the block's lanes execute it.
"""

from dataclasses import dataclass, field

from judge.backends.cpu.fragments import LANES, parse_shape, product_form, wmma_elements
from judge.backends.cpu.instruction_classes import class_of
from judge.backends.cpu.ir import WIDTHS, Address, Immediate, Instruction, Kernel
from judge.backends.cpu.lowering.flow import is_barrier
from judge.backends.cpu.lowering.kernel import LoweredKernel
from judge.backends.cpu.lowering.memory_ops import state_space
from judge.backends.cpu.lowering.uniformity import SHARED, address_spaces

_ONE = {"add", "sub", "mul", "div", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"}
_TWO = {"fma", "mad"}
_FLOATS = {"f16", "bf16", "f32", "f64"}
_PAIRS = {"f16x2", "bf16x2"}


@dataclass
class KernelCounts:
    """Exact counts of one launch (see records.Counters for their meaning)."""

    warp_instructions: int = 0
    thread_instructions: int = 0
    flops: int = 0
    shared_bytes_read: int = 0
    shared_bytes_written: int = 0
    barriers: int = 0
    branches: int = 0
    parted_branches: int = 0
    classes: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class InstructionCounts:
    """How often each instruction ran. warps: by warps; lanes: by threads; parted: branches that parted a warp."""

    warps: list[int]
    lanes: list[int]
    parted: list[int]


def count_instructions(kernel: Kernel, lowered: LoweredKernel, counters: list[int]) -> InstructionCounts:
    """counters: the launch's counter array, summed over threads."""
    count = len(kernel.instructions)
    found = InstructionCounts([0] * count, [0] * count, [0] * count)
    extra = 2 * len(lowered.blocks)
    for block in lowered.blocks:
        warps, lanes = counters[2 * block.number], counters[2 * block.number + 1]
        if not warps:
            continue
        for index in range(block.start, block.end):
            guard = lowered.guarded.get(index)
            found.warps[index] = warps
            found.lanes[index] = lanes if guard is None else counters[extra + guard]
        if block.number in lowered.parted:
            found.parted[block.end - 1] = counters[extra + lowered.parted[block.number]]
    return found


def is_branch(instruction: Instruction) -> bool:
    """Whether it may send the lanes of a warp apart."""
    conditional = instruction.opcode in ("bra", "ret", "exit") and instruction.guard is not None
    return conditional or instruction.opcode == "brx"


def flops_of(instruction: Instruction) -> int:
    """Floating-point operations of one lane; an fma counts two, comparisons and conversions none.

    A matrix product counts 2 m n k for its warp, when it sums floating-point numbers.
    """
    if not instruction.types:
        return 0
    if instruction.opcode in ("mma", "wmma"):
        return _product_flops(instruction)
    type_ = instruction.types[-1]
    if type_ not in _FLOATS and type_ not in _PAIRS:
        return 0
    count = 2 if instruction.opcode in _TWO else 1 if instruction.opcode in _ONE else 0
    return count * (2 if type_ in _PAIRS else 1)


def _product_flops(instruction: Instruction) -> int:
    if instruction.opcode == "wmma" and instruction.modifiers[0] != "mma":
        return 0
    form = product_form(instruction.opcode, instruction.modifiers, instruction.types)
    if form is None or form.d == "s32":
        return 0
    return 2 * form.shape.m * form.shape.n * form.shape.k // LANES


def _is_store(instruction: Instruction) -> bool:
    return instruction.opcode in ("st", "red", "stmatrix", "cp") or instruction.modifiers[:1] == ("store",)


def _matrix_bytes(instruction: Instruction) -> int:
    """Bytes a lane moves in a matrix load or store, or in a cp.async."""
    if instruction.opcode in ("ldmatrix", "stmatrix"):
        return 4 * next((n for m, n in (("x1", 1), ("x2", 2), ("x4", 4)) if m in instruction.modifiers), 1)
    if instruction.opcode == "cp":
        size = next((o for o in instruction.sources if isinstance(o, Immediate)), None)
        return size.value if size is not None and isinstance(instruction.sources[0], Address) else 0
    shape = parse_shape(next(m for m in instruction.modifiers if m[0] == "m" and "n" in m and "k" in m))
    return wmma_elements(shape, instruction.modifiers[1]) * WIDTHS[instruction.types[-1]] // 8


_MATRIX = ("ldmatrix", "stmatrix", "cp")


def _shared_bytes(instruction: Instruction, spaces: tuple[int, ...]) -> int:
    moves_matrix = instruction.opcode in _MATRIX or instruction.modifiers[:1] in (("load",), ("store",))
    if instruction.opcode not in ("ld", "st", "atom", "red") and not moves_matrix:
        return 0
    operands = (*instruction.destinations, *instruction.sources)
    address = next((o for o in operands if isinstance(o, Address)), None)
    if address is None:
        return 0
    space = state_space(instruction)
    if space != "shared" and (space or address_spaces(address, spaces) != SHARED):
        return 0
    if moves_matrix:
        return _matrix_bytes(instruction)
    count = next((int(m[1:]) for m in instruction.modifiers if m in ("v2", "v4", "v8")), 1)
    return WIDTHS[instruction.types[-1]] // 8 * count


def count_launch(kernel: Kernel, lowered: LoweredKernel, counts: InstructionCounts) -> KernelCounts:
    total = KernelCounts()
    spaces = lowered.uniformity.spaces
    for index, instruction in enumerate(kernel.instructions):
        warps, active = counts.warps[index], counts.lanes[index]
        if not warps:
            continue
        total.warp_instructions += warps
        total.thread_instructions += active
        total.flops += active * flops_of(instruction)
        kind = class_of(instruction)
        total.classes[kind] = total.classes.get(kind, 0) + warps
        if is_barrier(instruction):
            total.barriers += warps
        if is_branch(instruction):
            total.branches += warps
        total.parted_branches += counts.parted[index]
        moved = active * _shared_bytes(instruction, spaces)
        if _is_store(instruction):
            total.shared_bytes_written += moved
        else:
            total.shared_bytes_read += moved
    return total


def hottest_instruction(kernel: Kernel, lowered: LoweredKernel, counters: list[int]) -> int:
    """Index of the last instruction of the block that ran most."""
    block = max(lowered.blocks, key=lambda b: counters[2 * b.number] * (b.end - b.start))
    return block.end - 1
