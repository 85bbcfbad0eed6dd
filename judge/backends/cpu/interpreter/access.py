"""Loads and stores: resolving addresses, checking them, moving bytes.

A lane whose access fails the check takes no part: its load gives zero, its store does nothing, and
an event tells of it. A misaligned access is treated the same way.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judge.backends.cpu import ir
from judge.backends.cpu.addresses import (
    CONSTANT_SLOT,
    LOCAL_SLOT,
    MODULE_SLOT,
    OFFSET_MASK,
    PARAMETER_SLOT,
    SHARED_SLOT,
    SLOT_SHIFT,
    SPACE_SLOTS,
)
from judge.backends.cpu.interpreter.moves import space_of
from judge.backends.cpu.interpreter.rounding import Raw
from judge.backends.cpu.interpreter.state import Bytes, Mask, Step
from judge.backends.cpu.interpreter.table import executes
from judge.records import DiagnosisKind

_SPACES = {slot: space for space, slot in SPACE_SLOTS.items()}
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}


@dataclass(frozen=True)
class Part:
    """The executing lanes whose addresses lie in one block of memory.

    positions: places in Step.lanes. offsets: byte offsets in the block as the program computed them.
    limit: bytes a lane may address, None without a block. starts: where a lane's own bytes begin (local memory).
    """

    block: Bytes | None
    space: str
    positions: NDArray[np.intp]
    addresses: Raw
    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    limit: int | None


def parts(step: Step, space: str, addresses: Raw) -> Iterator[Part]:
    """Split the lanes of an access by the block they touch. space "" and "global": tagged addresses."""
    if space in ("", "global"):
        slots = addresses >> np.uint64(SLOT_SHIFT)
        offsets = (addresses & np.uint64(OFFSET_MASK)).astype(np.int64)
        for slot in np.unique(slots).tolist():
            positions = np.flatnonzero(slots == slot)
            yield _part(step, slot, positions, addresses[positions], offsets[positions])
        return
    offsets = (addresses & np.uint64((1 << 62) - 1)).astype(np.int64)
    slot = SPACE_SLOTS[space]
    yield _part(step, slot, np.arange(len(addresses)), addresses, offsets)


def _part(step: Step, slot: int, positions: NDArray[np.intp], addresses: Raw, offsets: NDArray[np.int64]) -> Part:
    block = _block(step, slot)
    space = "global" if slot == MODULE_SLOT else _SPACES.get(slot, "global")
    starts = np.zeros(len(positions), dtype=np.int64)
    limit = None if block is None else block.size
    if slot == LOCAL_SLOT:
        limit = step.warp.local.shape[1]
        starts = step.lanes[positions].astype(np.int64) * limit
    shown = addresses if space == "global" else offsets.astype(np.uint64)
    return Part(block, space, positions, shown, offsets, starts, limit)


def _block(step: Step, slot: int) -> Bytes | None:
    launch = step.launch
    match slot:
        case _ if slot == SHARED_SLOT:
            return step.warp.cta.shared
        case _ if slot == LOCAL_SLOT:
            return step.warp.local.reshape(-1)
        case _ if slot == CONSTANT_SLOT:
            return launch.constants
        case _ if slot == PARAMETER_SLOT:
            return launch.arguments
        case _ if slot == MODULE_SLOT:
            return launch.module_variables
        case _:
            return launch.memory.resolve(slot)


def checked(step: Step, part: Part, size: int, action: str) -> Mask:
    """Which positions of a part may be accessed; the others are reported."""
    limit = -1 if part.limit is None else part.limit
    inside = (part.offsets >= 0) & (part.offsets <= limit - size)
    aligned = part.offsets % size == 0
    for kind, bad in (
        (DiagnosisKind.OUT_OF_BOUNDS, ~inside),
        (DiagnosisKind.MISALIGNED, inside & ~aligned),
    ):
        places = np.flatnonzero(bad)
        if places.size:
            first = int(places[0])
            step.report(
                kind,
                int(step.lanes[part.positions[first]]),
                action=action,
                space=part.space,
                address=int(part.addresses[first]),
                size=size,
                limit=part.limit,
                count=int(places.size),
            )
    good: Mask = inside & aligned
    return good


def read_bytes(step: Step, space: str, addresses: Raw, size: int) -> Bytes:
    """Bytes of every executing lane, shape (lanes, size)."""
    result = np.zeros((len(addresses), size), dtype=np.uint8)
    for part in parts(step, space, addresses):
        good = checked(step, part, size, "read")
        if part.block is not None and good.any():
            where = (part.starts + part.offsets)[good]
            result[part.positions[good]] = part.block[where[:, np.newaxis] + np.arange(size)]
    return result


def write_checked(step: Step, touched: Iterable[Part], size: int) -> Iterator[tuple[Part, Mask]]:
    """The parts of a write that exist, each with the positions that pass the check."""
    for part in touched:
        good = checked(step, part, size, "write")
        if part.block is not None:
            yield part, good


def write_bytes(step: Step, space: str, addresses: Raw, data: Bytes) -> None:
    """Store (lanes, size) bytes. Where lanes meet at one address the highest lane stays."""
    size = data.shape[1]
    for part, good in write_checked(step, parts(step, space, addresses), size):
        assert part.block is not None
        for place in np.flatnonzero(good).tolist():
            start = int(part.starts[place] + part.offsets[place])
            part.block[start : start + size] = data[part.positions[place]]


def address_of(step: Step, operand: ir.Operand) -> Raw:
    return step.raw(operand, "b64")


def access_space(step: Step, operand: ir.Operand) -> str:
    """The form's space; a variable named directly in a generic access brings its own."""
    space = space_of(step)
    if not space and isinstance(operand, ir.Address) and isinstance(operand.base, ir.Symbol):
        return operand.base.space
    return space


def _elements(operand: ir.Operand | None) -> tuple[ir.Operand | None, ...]:
    return operand.elements if isinstance(operand, ir.Vector) else (operand,)


def _vector_length(step: Step) -> int:
    return next((n for m, n in _VECTORS.items() if m in step.modifiers), 1)


def from_bytes(data: Bytes) -> Raw:
    """Little-endian integers of (lanes, width) bytes."""
    wide = np.zeros((data.shape[0], 8), dtype=np.uint8)
    wide[:, : data.shape[1]] = data
    return np.ascontiguousarray(wide).view(np.uint64)[:, 0]


def to_bytes(values: Raw, width: int) -> Bytes:
    return np.ascontiguousarray(values).view(np.uint8).reshape(-1, 8)[:, :width]


@executes("ld", "ldu")
def load(step: Step) -> None:
    """Caching, ordering and scope modifiers change nothing: memory is sequentially consistent here."""
    type_ = step.instruction.types[-1]
    width = ir.WIDTHS[type_] // 8
    address = step.instruction.sources[0]
    data = read_bytes(step, access_space(step, address), address_of(step, address), width * _vector_length(step))
    for place, element in enumerate(_elements(step.instruction.destinations[0])):
        step.write_raw(element, type_, from_bytes(data[:, place * width : (place + 1) * width]))


@executes("st")
def store(step: Step) -> None:
    """A source register wider than the type gives its low bytes."""
    type_ = step.instruction.types[-1]
    width = ir.WIDTHS[type_] // 8
    address, value = store_operands(step)
    columns = []
    for element in _elements(value):
        raw = np.zeros(len(step.lanes), dtype=np.uint64) if element is None else step.raw(element, type_)
        columns.append(to_bytes(raw, width))
    write_bytes(step, access_space(step, address), address_of(step, address), np.concatenate(columns, axis=1))


def store_operands(step: Step) -> tuple[ir.Operand, ir.Operand]:
    """(address, value) of a store, whichever side of the instruction the address stands on."""
    operands = [o for o in (*step.instruction.destinations, *step.instruction.sources) if o is not None]
    return operands[0], operands[1]
