"""Which class an instruction is counted in.

The classes are those of the units that do the work: a comparison of floats is floating point, a move
between registers is integer work, a load of a kernel parameter is a constant operand and no memory access.
"""

from judge.backends.cpu.ir import Instruction
from judge.backends.cpu.lowering.memory_ops import state_space

_BY_OPCODE = {
    "memory": {
        "ld",
        "ldu",
        "st",
        "atom",
        "red",
        "prefetch",
        "prefetchu",
        "cp",
        "ldmatrix",
        "stmatrix",
        "discard",
        "applypriority",
        "createpolicy",
    },
    "control": {"bra", "brx", "ret", "exit", "trap", "call", "nanosleep"},
    "conversion": {"cvt", "cvta"},
    "collective": {"shfl", "vote", "match", "redux", "activemask", "elect"},
    "barrier": {"bar", "barrier", "membar", "fence", "griddepcontrol"},
    "integer": {"mov", "selp", "slct"},
    "special": {"rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"},
    "matrix": {"mma", "wmma", "movmatrix"},
}
_CLASS_OF = {opcode: name for name, opcodes in _BY_OPCODE.items() for opcode in opcodes}
_FLOATS = {"f16", "bf16", "f16x2", "bf16x2", "tf32", "f32", "f32x2", "f64"}

CLASSES = ("memory", "floating_point", "integer", "control", "conversion", "collective", "barrier", "special", "matrix")


def class_of(instruction: Instruction) -> str:
    """The name of the class, one of CLASSES."""
    known = _CLASS_OF.get(instruction.opcode)
    if known == "memory" and state_space(instruction) == "param":
        return "integer"
    if known is not None:
        return known
    return "floating_point" if instruction.types and instruction.types[-1] in _FLOATS else "integer"
