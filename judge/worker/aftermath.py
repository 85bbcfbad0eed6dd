"""What launches left behind beside their outputs: changed inputs, and bytes in the guard zones of buffers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from judge.backends.base import GUARD_BYTE, Device
from judge.problem import Role
from judge.records import Diagnosis, DiagnosisKind
from judge.worker.messages import BufferSpec, CaseRequest


@dataclass
class Region:
    """A device allocation of the case: `address` is what a kernel sees, the guards lie around it."""

    name: str
    address: int
    size_bytes: int
    element_bytes: int
    guard_bytes: int


def raw_input(request: CaseRequest, buffer: BufferSpec) -> memoryview:
    """The bytes of an input as they are brought in."""
    array = np.ascontiguousarray(request.inputs[buffer.name])
    return array.reshape(-1).view(np.uint8).data


def modified_inputs(device: Device, request: CaseRequest, addresses: Mapping[str, int]) -> list[Diagnosis]:
    """A diagnosis for every input that is no longer what was brought in."""
    found = []
    for buffer in request.buffers:
        if buffer.role is not Role.INPUT or not buffer.size_bytes:
            continue
        before = np.frombuffer(raw_input(request, buffer), np.uint8)
        after = np.frombuffer(device.download(addresses[buffer.name], buffer.size_bytes), np.uint8)
        if np.array_equal(before, after):
            continue
        # Not np.unique: it imports on first use, which a sealed process cannot.
        changed = np.flatnonzero((before != after).reshape(-1, buffer.element_bytes).any(axis=1))
        index = tuple(int(i) for i in np.unravel_index(int(changed[0]), buffer.shape))
        found.append(
            Diagnosis(
                kind=DiagnosisKind.INPUT_MODIFIED,
                message=f"the kernel changed its input {buffer.name}, first at {list(index)} "
                f"({changed.size} elements in all); inputs are read-only",
                buffer=buffer.name,
                index=index,
                occurrences=int(changed.size),
                hint="Write results to the output or to a @workspace.",
            )
        )
    return found


def overwritten_guards(device: Device, regions: Sequence[Region]) -> list[Diagnosis]:
    """A diagnosis for every guard zone that was written into."""
    found = []
    for region in regions:
        for side, start in (
            ("before", region.address - region.guard_bytes),
            ("after", region.address + region.size_bytes),
        ):
            zone = np.frombuffer(device.download(start, region.guard_bytes), np.uint8)
            changed = np.flatnonzero(zone != GUARD_BYTE)
            if not changed.size:
                continue
            # The byte nearest to the buffer tells most: one past the end is the usual mistake.
            offset = int(changed[0] if side == "after" else changed[-1]) + start - region.address
            index = offset // region.element_bytes
            found.append(
                Diagnosis(
                    kind=DiagnosisKind.GUARD_OVERWRITTEN,
                    message=f"the kernel wrote {side} the {'end' if side == 'after' else 'start'} of {region.name}: "
                    f"element {index} of {region.size_bytes // region.element_bytes}",
                    buffer=region.name,
                    index=(index,),
                    occurrences=int(changed.size),
                    hint="The CPU backend names the line and thread of such a write.",
                )
            )
    return found
