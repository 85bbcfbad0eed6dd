"""PTX modules for the tests: a header, declarations and one kernel around a body."""

from judge.backends.cpu.ir import Address, Immediate, Instruction, Kernel, Register, Special, Symbol, Target, Vector
from judge.backends.cpu.ptx import load

HEADER = ".version 9.0\n.target sm_90, debug\n.address_size 64\n"
REGISTERS = """
  .reg .pred %p<8>; .reg .b16 %rs<8>; .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .f32 %f<8>; .reg .f64 %fd<8>;
"""


def module(body, *, before="", parameters=".param .u64 p0, .param .u32 p1", registers=REGISTERS):
    return f"{HEADER}{before}\n.visible .entry k({parameters})\n{{{registers}{body}\n  ret;\n}}\n"


def kernel(body, **options) -> Kernel:
    return load(module(body, **options)).kernels["k"]


def spell(operand) -> str:
    match operand:
        case None:
            return "_"
        case Register():
            return operand.name
        case Immediate():
            return f"{operand.value:#x}/{operand.float_bits}" if operand.float_bits else str(operand.value)
        case Special():
            return f"%{operand.name}"
        case Symbol():
            return f"{operand.space}:{operand.name}@{operand.offset}"
        case Address():
            base = "" if operand.base is None else spell(operand.base)
            return f"[{base}+{operand.offset}]"
        case Vector():
            return "{" + ",".join(spell(element) for element in operand.elements) + "}"
        case Target():
            return f"->{operand.index}"
    raise AssertionError(operand)


def line(instruction: Instruction) -> str:
    """An instruction as text: guard, form, destinations = sources."""
    guard = ""
    if instruction.guard is not None:
        guard = f"@{'!' if instruction.guard.negated else ''}{instruction.guard.register.name} "
    written = ", ".join(spell(operand) for operand in instruction.destinations)
    read = ", ".join(spell(operand) for operand in instruction.sources)
    return f"{guard}{instruction.form} {written} = {read}".strip()


def lines(body, **options) -> list[str]:
    """The instructions of a kernel with this body, its final ret left out."""
    return [line(instruction) for instruction in kernel(body, **options).instructions[:-1]]
