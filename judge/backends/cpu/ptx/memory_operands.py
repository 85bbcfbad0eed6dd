"""What ptxas wants of the operands of memory instructions beside their types: cache policies, sizes of copies."""

import struct

from judge.backends.cpu import ir
from judge.backends.cpu.ptx.routine import Operand

CACHE_HINT = "L2::cache_hint"

_SOURCES = {"ld": (1,), "st": (2,), "red": (2,), "atom": (2,), "atom.cas": (3,), "cp.async": (3, 4)}
"""How many sources an access has without a cache policy."""

_COPIED_BYTES = {"cg": {16: "16"}, "ca": dict.fromkeys((4, 8, 16), "4, 8 or 16")}
"""What an asynchronous copy moves, and how that is told."""


def without_policy(opcode: str, modifiers: tuple[str, ...], sources: list[Operand]) -> tuple[list[Operand], str]:
    """The sources without the cache policy, and why what there is of one is wrong, "" when it is right."""
    wanted = _SOURCES.get(_access(opcode, modifiers, sources))
    if wanted is None:
        return sources, ""
    if CACHE_HINT not in modifiers:
        if len(sources) > max(wanted):
            return sources, f"a cache policy, which needs .{CACHE_HINT}"
        return sources, "" if len(sources) in wanted else "an operand is missing"
    if "cas" in modifiers:
        return sources, f"a compare-and-swap has no .{CACHE_HINT}"
    if len(sources) - 1 not in wanted:
        return sources, f".{CACHE_HINT} needs a cache policy as the last operand"
    *others, policy = sources
    if isinstance(policy, ir.Register) and policy.bits != 64:
        return others, f"{policy.name} is a .{policy.type} register, and a cache policy has 64 bits"
    return others, ""


def value_fault(opcode: str, modifiers: tuple[str, ...], sources: list[Operand]) -> str:
    """What is wrong with the values of an asynchronous copy, without its policy, or of a new policy; "" for nothing."""
    if opcode == "createpolicy":
        return _fraction_fault(sources) if "fractional" in modifiers else ""
    if _access(opcode, modifiers, sources) != "cp.async":
        return ""
    size, given = sources[2], sources[3] if len(sources) > 3 else None
    kind = next((m for m in modifiers if m in _COPIED_BYTES), "")
    if isinstance(size, ir.Immediate) and kind and size.value not in _COPIED_BYTES[kind]:
        return f".{kind} copies {next(iter(_COPIED_BYTES[kind].values()))} bytes, not {size.value}"
    if isinstance(given, ir.Register) and given.type != "pred" and given.bits != 32:
        return f"{given.name} is a .{given.type} register, and the size of the source has 32 bits"
    return ""


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
