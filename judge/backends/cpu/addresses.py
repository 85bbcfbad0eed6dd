"""How a 64-bit device address is built on the CPU backend: a slot tag above a 40-bit offset.

Each allocation has a slot of its own, so an index wrong by less than 1 TiB cannot land in another
buffer and an access check is exact. Windows of the other state spaces are slots too; they give
generic addresses for what `cvta` makes of shared, local, constant and parameter addresses.

An address inside a state space (what `mov.u32 %r, shared_symbol` gives) is a plain offset.
"""

SLOT_SHIFT = 40
OFFSET_MASK = (1 << SLOT_SHIFT) - 1

NULL_SLOT = 0
SHARED_SLOT = 1
LOCAL_SLOT = 2
CONSTANT_SLOT = 3
PARAMETER_SLOT = 4
MODULE_SLOT = 5
"""Module-level `__device__` variables."""
FIRST_BUFFER_SLOT = 8
MAX_SLOTS = 4096

FUNCTION_SLOT = MAX_SLOTS
"""Addresses of functions: no memory lies there, and a function has one only if the module takes it."""

SPACE_SLOTS = {
    "shared": SHARED_SLOT,
    "local": LOCAL_SLOT,
    "const": CONSTANT_SLOT,
    "param": PARAMETER_SLOT,
    "global": MODULE_SLOT,
}


def slot_base(slot: int) -> int:
    return slot << SLOT_SHIFT


def split(address: int) -> tuple[int, int]:
    """(slot, offset) of a 64-bit address."""
    return (address & 0xFFFF_FFFF_FFFF_FFFF) >> SLOT_SHIFT, address & OFFSET_MASK
