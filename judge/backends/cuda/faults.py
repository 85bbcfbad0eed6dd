"""What each CUDA error of a launch means for a verdict.

Errors of a running kernel are sticky: every later call of the process fails with the same code, so
they are fatal to the worker. Errors of the launch itself leave the device usable.
"""

from dataclasses import dataclass

from judge.backends.base import DeviceFault
from judge.records import Diagnosis, DiagnosisKind
from judge.verdict import Verdict

_CPU_HINT = "The CPU backend (--backend cpu) names the line, the thread and the element."


@dataclass(frozen=True)
class _Meaning:
    verdict: Verdict
    sentence: str
    kind: DiagnosisKind | None = None
    fatal: bool = True


_RUNTIME = Verdict.RUNTIME_ERROR
_LAUNCH = Verdict.LAUNCH_ERROR

_MEANINGS = {
    1: _Meaning(_LAUNCH, "the driver refused the launch as invalid", fatal=False),
    2: _Meaning(
        _LAUNCH, "the launch needs more device memory than there is (local memory of all threads)", fatal=False
    ),
    9: _Meaning(_LAUNCH, "the driver refused this grid and block for the kernel", fatal=False),
    700: _Meaning(
        _RUNTIME, "illegal address: the kernel touched memory that belongs to no buffer", DiagnosisKind.OUT_OF_BOUNDS
    ),
    701: _Meaning(_LAUNCH, "the kernel needs more registers than a block of this size can have", fatal=False),
    702: _Meaning(Verdict.TIME_LIMIT, "the driver stopped the kernel: it ran too long for a display GPU"),
    710: _Meaning(_RUNTIME, "an assert() in the kernel failed", DiagnosisKind.ASSERT),
    714: _Meaning(_RUNTIME, "stack overflow: a thread used more stack than it has", DiagnosisKind.OUT_OF_BOUNDS),
    715: _Meaning(_RUNTIME, "the kernel executed a trap or an illegal instruction", DiagnosisKind.TRAP),
    716: _Meaning(
        _RUNTIME,
        "misaligned address: a vector access needs an address that is a multiple of its size",
        DiagnosisKind.MISALIGNED,
    ),
    717: _Meaning(_RUNTIME, "an address of the wrong memory space was used", DiagnosisKind.OUT_OF_BOUNDS),
    718: _Meaning(_RUNTIME, "the kernel jumped to an invalid place: its stack or a pointer is broken"),
    719: _Meaning(
        _RUNTIME,
        "the kernel stopped by a trap, a stack overflow or an access outside shared memory",
        DiagnosisKind.TRAP,
    ),
    720: _Meaning(_LAUNCH, "the grid is too large for all blocks to be resident at once", fatal=False),
}


def launch_fault(code: int, name: str, *, while_running: bool) -> DeviceFault:
    """The fault for a CUDA error of a launch or of the wait for its end.

    name: the driver's own text, shown beside ours. Codes not in the table are the machine's fault.
    """
    meaning = _MEANINGS.get(code)
    if meaning is None or (while_running and not meaning.fatal):
        return DeviceFault(Verdict.JUDGE_ERROR, f"CUDA error {code} ({name})", fatal=True)
    message = f"{meaning.sentence} (CUDA error {code})"
    diagnoses: tuple[Diagnosis, ...] = ()
    if meaning.kind is not None:
        diagnoses = (Diagnosis(kind=meaning.kind, message=message, hint=_CPU_HINT),)
    return DeviceFault(meaning.verdict, message, diagnoses, fatal=meaning.fatal)
