"""Device memory of the CPU backend: every allocation is a slot of its own.

Both executors read and write through `slots`; the address scheme is in addresses.py.
"""

import numpy as np
from numpy.typing import NDArray

from judge.backends.base import BufferLabel
from judge.backends.cpu.addresses import FIRST_BUFFER_SLOT, MAX_SLOTS, slot_base, split

Bytes = NDArray[np.uint8]

ALIGNMENT = 256

SLOT_STRIDE = 17
"""Slots of allocations lie apart, so that an index wrong by a whole slot lands in none."""


def aligned_bytes(size: int) -> Bytes:
    """A zeroed uint8 array of `size` bytes at an address that is a multiple of 256."""
    raw = np.zeros(size + ALIGNMENT, dtype=np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size]


class DeviceMemory:
    """The allocations of one device.

    slots: contents by slot number. labels: what each allocation is called in diagnoses.
    written: of each output and workspace, which bytes anything was written to: a byte a 4-byte word,
    a bit a byte in it. Kept from launch to launch.
    """

    def __init__(self) -> None:
        self.slots: dict[int, Bytes] = {}
        self.labels: dict[int, BufferLabel] = {}
        self.written: dict[int, Bytes] = {}
        self._next = FIRST_BUFFER_SLOT

    def allocate(self, label: BufferLabel, size_bytes: int) -> int:
        """Device address of a fresh, zeroed allocation. Raises MemoryError when slots run out."""
        if self._next >= MAX_SLOTS:
            raise MemoryError(f"more than {(MAX_SLOTS - FIRST_BUFFER_SLOT) // SLOT_STRIDE} allocations")
        slot = self._next
        self._next += SLOT_STRIDE
        self.slots[slot] = aligned_bytes(size_bytes)
        self.labels[slot] = label
        if label.role in ("output", "workspace"):
            self.written[slot] = aligned_bytes(size_bytes // 4 + 8)
        return slot_base(slot)

    def view(self, address: int, size_bytes: int) -> Bytes:
        """The bytes behind an address. Raises ValueError when the range is not inside one allocation."""
        slot, offset = split(address)
        block = self.slots.get(slot)
        if block is None or offset + size_bytes > block.size:
            raise ValueError(f"{size_bytes} bytes at {address:#x} are outside every allocation")
        return block[offset : offset + size_bytes]

    def mark_written(self, address: int, size_bytes: int, *, written: bool) -> None:
        """Whole words at an address count as written by the host, or as never written."""
        slot, offset = split(address)
        marks = self.written.get(slot)
        if marks is not None:
            marks[offset // 4 : -(-(offset + size_bytes) // 4)] = 15 if written else 0

    def resolve(self, slot: int) -> Bytes | None:
        return self.slots.get(slot)

    def release_all(self) -> None:
        self.slots.clear()
        self.labels.clear()
        self.written.clear()
        self._next = FIRST_BUFFER_SLOT
