"""What ptxas wants of the operands of memory instructions beside their types: cache policies, sizes of copies."""

import struct

from judge.backends.cpu import ir
from judge.backends.cpu.ptx.routine import Operand

CACHE_HINT = "L2::cache_hint"

_SOURCES = {"ld": (1,), "st": (2,), "red": (2,), "atom": (2,), "atom.cas": (3,), "cp.async": (3, 4)}
"""How many sources an access has without a cache policy."""

_OTHER_SPACES = frozenset({"shared", "local", "const", "param"})
_COPIED_BYTES = {"cg": ((16,), "16"), "ca": ((4, 8, 16), "4, 8 or 16")}
"""What an asynchronous copy moves, and how that is told."""


def without_policy(opcode: str, modifiers: tuple[str, ...], sources: list[Operand]) -> tuple[list[Operand], str]:
    """The sources without the cache policy, and why what there is of one is wrong, "" when it is right."""
    access = _access(opcode, modifiers, sources)
    wanted = _SOURCES.get(access)
    if wanted is None:
        return sources, f"it has no .{CACHE_HINT}" if CACHE_HINT in modifiers else ""
    if CACHE_HINT not in modifiers:
        if len(sources) > max(wanted):
            return sources, f"a cache policy, which needs .{CACHE_HINT}"
        return sources, "" if len(sources) in wanted else "an operand is missing"
    if "cas" in modifiers:
        return sources, f"a compare-and-swap has no .{CACHE_HINT}"
    if access != "cp.async" and not _OTHER_SPACES.isdisjoint(modifiers):
        return sources, f".{CACHE_HINT} is for global memory"
    if len(sources) - 1 not in wanted:
        return sources, f".{CACHE_HINT} needs a cache policy as the last operand"
    *others, policy = sources
    return others, _no_policy(policy)


def value_fault(
    opcode: str, modifiers: tuple[str, ...], destinations: "list[Operand | None]", sources: list[Operand]
) -> str:
    """What is wrong with the values of an asynchronous copy, without its policy, or of a new policy; "" for nothing."""
    if opcode == "createpolicy":
        fault = _no_policy(destinations[0])
        if fault:
            return fault
        if "cvt" not in modifiers and not any(m.startswith("L2::") for m in modifiers):
            return "it needs a priority such as .L2::evict_first"
        if "cvt" in modifiers and "L2" not in modifiers:
            return "it needs .L2"
        return _fraction_fault(sources) if "fractional" in modifiers else ""
    if opcode == "applypriority":
        size = sources[-1]
        right = isinstance(size, ir.Immediate) and size.value == 128 and "L2::evict_normal" in modifiers
        return "" if right else "it takes .L2::evict_normal and 128 bytes"
    if _access(opcode, modifiers, sources) != "cp.async":
        return ""
    size, given = sources[2], sources[3] if len(sources) > 3 else None
    for kind in _COPIED_BYTES.keys() & set(modifiers):
        sizes, told = _COPIED_BYTES[kind]
        if isinstance(size, ir.Immediate) and size.value not in sizes:
            return f".{kind} copies {told} bytes, not {size.value}"
    if isinstance(given, ir.Register) and given.type != "pred" and (given.bits != 32 or given.type == "f32"):
        return f"{given.name} is a .{given.type} register, and the size of the source has 32 bits"
    return ""


def _no_policy(operand: "Operand | None") -> str:
    """Why an operand can be no cache policy, "" when it can."""
    if not isinstance(operand, ir.Register):
        return "a cache policy is a register"
    fits = operand.bits == 64 and operand.type != "f64"
    return "" if fits else f"{operand.name} is a .{operand.type} register, and a cache policy has 64 bits"


def _access(opcode: str, modifiers: tuple[str, ...], sources: list[Operand]) -> str:
    if opcode == "cp":
        copies = modifiers[:1] == ("async",) and len(sources) > 1
        return "cp.async" if copies else ""
    return "atom.cas" if opcode == "atom" and "cas" in modifiers else opcode


def _fraction_fault(sources: list[Operand]) -> str:
    """The share of accesses that a policy is for."""
    fraction = sources[0] if sources else None
    if not isinstance(fraction, ir.Immediate):
        return ""
    value = float(fraction.value)
    if fraction.float_bits:
        code = "<f" if fraction.float_bits == 32 else "<d"
        (value,) = struct.unpack(code, fraction.value.to_bytes(fraction.float_bits // 8, "little"))
    return "" if 0 < value <= 1 else f"the fraction {value:g} is not above 0 and at most 1"
