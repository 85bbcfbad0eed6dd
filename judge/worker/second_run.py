"""The launches of a case once more, on what they left in `__device__` variables.

Whoever times a kernel runs it often, so the answer of the second run has to be right as well. Only a device that
knows whether such variables changed can say that a second run is worth its time.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from judge.backends.base import Device, DeviceFault, Launch
from judge.records import Diagnosis, DiagnosisKind
from judge.worker.messages import CaseRequest
from judge.worker.plan import where


@runtime_checkable
class RememberingDevice(Protocol):
    """A device that can tell whether `__device__` variables are as the module brought them."""

    def variables_changed(self) -> bool: ...


def leaves_state(device: Device, request: CaseRequest, diagnoses: Sequence[Diagnosis]) -> bool:
    """Whether the launches changed `__device__` variables that a second run would find."""
    proved = any(not diagnosis.warning for diagnosis in diagnoses)
    return not (proved or request.patterns) and isinstance(device, RememberingDevice) and device.variables_changed()


def second_outputs(
    device: Device,
    request: CaseRequest,
    launches: Sequence[Launch],
    addresses: Mapping[str, int],
    first: Mapping[str, bytes],
    diagnoses: list[Diagnosis],
) -> dict[str, bytes]:
    """The outputs of a second run where they differ, which `diagnoses` then tells; none where they are the same.

    Its buffers have been filled as for the first.

    Raises DeviceFault when the second run ends in a fault.
    """
    for launch, spec in zip(launches, request.launches, strict=True):
        try:
            device.launch(launch, time_limit_s=request.time_limit_s, schedule=request.schedule)
        except DeviceFault as fault:
            message = f"in a second run of the same launches, {where(spec)}{spec.name}: {fault}"
            raise DeviceFault(fault.verdict, message, fault.diagnoses, fatal=fault.fatal) from fault
    second = {b.name: device.download(addresses[b.name], b.size_bytes) for b in request.outputs}
    changed = next((name for name, data in second.items() if data != first[name]), None)
    if changed is None:
        return {}
    diagnoses.append(
        Diagnosis(
            kind=DiagnosisKind.STATE_KEPT,
            message=f"A second run of the same launches gives another {changed}: __device__ variables still hold "
            "what the first run left in them.",
            buffer=changed,
            hint="Let the kernel set such a variable back when it is done (atomicInc wraps a ticket by itself), or "
            "keep it in a workspace that a launch of its own clears.",
            warning=True,
        )
    )
    return second
