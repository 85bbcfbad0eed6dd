"""How many blocks of a kernel one SM holds at a time, and what keeps it from holding more.

A block needs warp places, registers, shared memory and a place in the block table; whichever runs out
first is the limit. Registers are given to whole warps in units, each warp's from one of four parts of the
register file; shared memory is given in units too, and from sm_80 on the system keeps 1 KiB of each block's.
The figures of the architectures are those of the CUDA C++ Programming Guide (compute capabilities) and of
the CUDA occupancy calculator.
"""

import re
from dataclasses import dataclass

WARP = 32
_PARTS = 4
_MAX_REGISTERS_PER_THREAD = 255
_MAX_THREADS_PER_BLOCK = 1024


@dataclass(frozen=True)
class SmLimits:
    """What one SM of an architecture holds. block_shared_bytes: the most that one block may ask for."""

    warps: int
    blocks: int
    shared_bytes: int
    block_shared_bytes: int
    registers: int = 65536
    register_unit: int = 256
    shared_unit: int = 128
    reserved_shared_bytes: int = 1024


def _sm(warps: int, blocks: int, shared_kib: int) -> SmLimits:
    return SmLimits(warps, blocks, shared_kib * 1024, (shared_kib - 1) * 1024)


def _older_sm(warps: int, blocks: int, shared_kib: int) -> SmLimits:
    """Before sm_80: coarser units of shared memory, and all of it for the blocks."""
    size = shared_kib * 1024
    return SmLimits(warps, blocks, size, size, shared_unit=256, reserved_shared_bytes=0)


LIMITS = {
    70: _older_sm(64, 32, 96),
    75: _older_sm(32, 16, 64),
    80: _sm(64, 32, 164),
    86: _sm(48, 16, 100),
    87: _sm(48, 16, 164),
    89: _sm(48, 24, 100),
    90: _sm(64, 32, 228),
    100: _sm(64, 32, 228),
    103: _sm(64, 32, 228),
    120: _sm(48, 24, 100),
}


@dataclass(frozen=True)
class Occupancy:
    """Blocks and warps that are resident on one SM.

    limits: blocks that each resource would allow: "warps", "blocks", "registers", "shared memory".
    """

    blocks: int
    warps: int
    max_warps: int
    limits: dict[str, int]

    @property
    def share(self) -> float:
        """Resident warps over the SM's limit, 0 to 1."""
        return self.warps / self.max_warps

    @property
    def limited_by(self) -> tuple[str, ...]:
        """The resources that allow no further block, in the order of `limits`."""
        return tuple(name for name, blocks in self.limits.items() if blocks == self.blocks)


def known_architectures() -> tuple[str, ...]:
    return tuple(f"sm_{number}" for number in LIMITS)


def limits_of(arch: str) -> SmLimits | None:
    """Limits of "sm_90", "sm_90a" or "compute_90"; None for an architecture without figures."""
    found = re.fullmatch(r"(?:sm|compute)_(\d+)[af]?", arch)
    return LIMITS.get(int(found[1])) if found else None


def occupancy(registers: int, shared_bytes: int, threads: int, arch: str) -> Occupancy | None:
    """Resident blocks of `threads` threads.

    registers: of one thread. shared_bytes: of one block, static and dynamic. 0 blocks: it cannot be
    launched. None for an architecture without figures, and for a block of no thread.
    """
    sm = limits_of(arch)
    if sm is None or threads < 1 or registers < 0 or shared_bytes < 0:
        return None
    warps = -(-threads // WARP)
    limits = {
        "warps": sm.warps // warps if threads <= _MAX_THREADS_PER_BLOCK else 0,
        "blocks": sm.blocks,
        "registers": _by_registers(registers, warps, sm),
        "shared memory": _by_shared_memory(shared_bytes, sm),
    }
    blocks = min(limits.values())
    return Occupancy(blocks, blocks * warps, sm.warps, limits)


def _by_registers(registers: int, warps: int, sm: SmLimits) -> int:
    if registers == 0:
        return sm.blocks
    if registers > _MAX_REGISTERS_PER_THREAD:
        return 0
    per_warp = _round_up(registers * WARP, sm.register_unit)
    # A launch is checked as if every part of the register file had to hold the same number of the block's warps.
    if per_warp * _round_up(warps, _PARTS) > sm.registers:
        return 0
    return sm.registers // _PARTS // per_warp * _PARTS // warps


def _by_shared_memory(shared_bytes: int, sm: SmLimits) -> int:
    if shared_bytes > sm.block_shared_bytes:
        return 0
    block = _round_up(shared_bytes + sm.reserved_shared_bytes, sm.shared_unit)
    return sm.shared_bytes // block if block else sm.blocks


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
