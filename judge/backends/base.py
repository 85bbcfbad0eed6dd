"""The protocol of a device: what a worker needs to run the launches of a case.

Two devices implement it, PTX on the CPU (backends/cpu) and a GPU through CuPy (backends/cuda).
Everything above it - allocation plan, poison, guard zones, planning kernels, geometry checks - is
the same code for both (worker/execution.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from judge.records import Counters, Diagnosis


@dataclass(frozen=True)
class DeviceProperties:
    """Limits a launch is checked against, and what a report says of the device. address: a GPU's on the PCI bus."""

    kind: str
    name: str
    arch: str
    warp_size: int = 32
    max_threads_per_block: int = 1024
    max_block: tuple[int, int, int] = (1024, 1024, 64)
    max_grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    max_shared_bytes: int = 227 * 1024
    memory_bytes: int = 1 << 34
    address: str = ""


@dataclass(frozen=True)
class KernelAttributes:
    """What the loaded module says of one kernel."""

    static_shared_bytes: int
    max_threads_per_block: int
    parameter_bytes: int
    local_bytes: int = 0
    registers: int | None = None


@dataclass(frozen=True)
class BufferLabel:
    """Names a device allocation for diagnoses: name, element bytes and shape as the user sees it.

    role: "input", "output", "workspace" or "internal".
    """

    name: str
    element_bytes: int
    shape: tuple[int, ...]
    role: str


@dataclass(frozen=True)
class Launch:
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    arguments: bytes
    """Parameter block of the kernel, laid out as the kernel's ABI wants it."""


@dataclass
class LaunchOutcome:
    """unique_bytes_read: of each buffer, distinct bytes read since it was placed, earlier launches included."""

    diagnoses: list[Diagnosis] = field(default_factory=list)
    counters: Counters | None = None
    seconds: float = 0.0
    printed: str = ""
    unique_bytes_read: Mapping[str, int] = field(default_factory=dict)


class DeviceFault(Exception):  # noqa: N818 - the fault is the kernel's, no error of ours
    """A launch ended abnormally.

    verdict: the Verdict value it leads to ("runtime_error", "time_limit", "undefined_behavior",
    "launch_error", "judge_error"). fatal: the device can run nothing more in this process.
    """

    def __init__(
        self,
        verdict: str,
        message: str,
        diagnoses: tuple[Diagnosis, ...] = (),
        *,
        fatal: bool = False,
        outcome: LaunchOutcome | None = None,
    ) -> None:
        super().__init__(message)
        self.verdict = verdict
        self.diagnoses = diagnoses
        self.fatal = fatal
        self.outcome = outcome


class Device(Protocol):
    """One device in one worker process. Addresses are device addresses (64-bit integers)."""

    properties: DeviceProperties

    def load(self, image: bytes, source: str, prepared: bytes = b"") -> None:
        """Load a module (PTX text for the CPU, a cubin for a GPU); the source text serves diagnoses.

        prepared: what made_code() gave when another process loaded the same image.
        Raises DeviceFault with "compile_error" when the image uses what the device does not have.
        """
        ...

    def made_code(self) -> bytes:
        """Machine code made since the last call, worth keeping for the next process; empty where none was."""
        ...

    def attributes(self, kernel: str) -> KernelAttributes:
        """Raises KeyError when the module has no such kernel."""
        ...

    def allocate(self, label: BufferLabel, size_bytes: int) -> int:
        """A fresh allocation aligned to 256 bytes, contents undefined (unknown to detectors)."""
        ...

    def upload(self, address: int, data: bytes | memoryview) -> None: ...

    def download(self, address: int, size_bytes: int) -> bytes: ...

    def poison(self, address: int, size_bytes: int, byte: int) -> None:
        """Fill with a byte; detectors still count the range as never written."""
        ...

    def release_all(self) -> None:
        """Free every allocation."""
        ...

    def launch(
        self, launch: Launch, *, time_limit_s: float, schedule: int = 0, patterns: bool = False
    ) -> LaunchOutcome:
        """Run one launch to its end.

        schedule: order of blocks and warps, 0 as numbered, 1 backwards, else shuffled by it. patterns: count
        sectors and bank conflicts. A GPU goes its own way and counts nothing.
        Raises DeviceFault when it did not end well.
        """
        ...


@dataclass(frozen=True)
class ModuleImage:
    """A compiled translation unit, ready for a device.

    kernels: lowered (mangled) name of every name expression the unit asked for.
    """

    image: bytes
    source: str
    kernels: Mapping[str, str]


UNKNOWN_INSTRUCTION = "the kernel executed a trap or an illegal instruction (CUDA error 715)"
"""What the diagnosis of a fault at such an instruction says, whole."""

POISON_BYTE = 0xFF
"""Outputs and workspaces are filled with it: every float type reads as NaN, int32 as -1."""

GUARD_BYTE = 0xA5
"""Fill of the guard zones on both sides of a GPU allocation."""
