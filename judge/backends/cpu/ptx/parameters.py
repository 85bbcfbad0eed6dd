"""Where the `.param` variables of calls live, and the instructions that reach them there.

NVRTC passes every argument through one: `st.param` before the call, `ld.param` in the callee, often
narrower than the variable (a char travels as .b32). Scalars become registers, so that a call costs
two moves; structs become local memory.
"""

import struct

from judge.backends.cpu import ir
from judge.backends.cpu.ptx.errors import PtxError
from judge.backends.cpu.ptx.routine import (
    Argument,
    CallSite,
    Draft,
    Parameter,
    ParameterAccess,
    PlaceAddress,
    Routine,
)


def decide(routine: Routine, parameter: Parameter) -> None:
    """Fix where a parameter lives; every access to it has been seen."""
    if parameter.scalar:
        parameter.register = routine.register(parameter.name, parameter.register_type)


def placed_access(access: ParameterAccess) -> Draft:
    """The instruction for an access, once its parameter has its place. Raises PtxError on a width that cannot be."""
    if access.parameter.register is None:
        modifiers = tuple("local" if m == "param" else m for m in access.modifiers)
        address = PlaceAddress(access.parameter.storage, access.offset)
        if access.is_store:
            assert access.operand is not None
            return Draft("st", modifiers, (), (address, access.operand), access.guard, access.location)
        return Draft("ld", modifiers, (access.operand,), (address,), access.guard, access.location)
    if access.is_store:
        return _store(access, access.parameter.register)
    return _load(access, access.parameter.register)


def _store(access: ParameterAccess, home: ir.Register) -> Draft:
    width, value = ir.WIDTHS[access.type], access.operand
    modifiers: tuple[str, ...]
    if isinstance(value, ir.Immediate):
        opcode, modifiers, value = "mov", (f"b{home.bits}",), _constant(value, width)
    else:
        assert isinstance(value, ir.Register)
        if value.bits < width or value.type == "pred":
            raise PtxError(
                f"st.param.{access.type} of {value.name}, which is a .{value.type} register", access.location
            )
        if value.bits == width == home.bits:
            opcode, modifiers = "mov", (f"b{width}",)
        else:
            opcode, modifiers = "cvt", (f"u{home.bits}", f"u{width}")
    return Draft(opcode, modifiers, (home,), (value,), access.guard, access.location)


def _load(access: ParameterAccess, home: ir.Register) -> Draft:
    width, result = ir.WIDTHS[access.type], access.operand
    assert isinstance(result, ir.Register)
    if result.bits < width or result.type == "pred":
        raise PtxError(f"ld.param.{access.type} to {result.name}, which is a .{result.type} register", access.location)
    if result.bits == width == home.bits:
        return Draft("mov", (f"b{width}",), (result,), (home,), access.guard, access.location)
    sign = "s" if access.type.startswith("s") else "u"
    modifiers = (f"{sign}{result.bits}", f"{sign}{width}")
    return Draft("cvt", modifiers, (result,), (home,), access.guard, access.location)


def _constant(value: ir.Immediate, width: int) -> ir.Immediate:
    """The bits a constant has as a value of the given width."""
    bits = value.value
    if value.float_bits == 64 and width == 32:
        double = struct.unpack("<d", struct.pack("<Q", bits))[0]
        try:
            bits = int.from_bytes(struct.pack("<f", double), "little")
        except OverflowError:
            bits = 0xFF80_0000 if double < 0 else 0x7F80_0000
    return ir.Immediate(bits & (1 << width) - 1)


def fits(routine: Routine, site: CallSite) -> bool:
    """Whether a function takes and returns what a call through a pointer hands over."""
    pairs = [(routine.parameters, site.arguments), (routine.results, site.results)]
    return all(
        len(formals) == len(actuals) and all(_size(f) == _size(a) for f, a in zip(formals, actuals, strict=True))
        for formals, actuals in pairs
    )


def _size(argument: Argument) -> int | None:
    """Bytes of a parameter or a register; None for a constant."""
    if isinstance(argument, Parameter):
        return argument.size
    return argument.bits // 8 if isinstance(argument, ir.Register) else None
