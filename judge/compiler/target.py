"""What a submission is compiled to, and with which options. Nobody else chooses an option."""

from dataclasses import dataclass
from typing import Literal

from judge.compiler.headers import PRELUDE
from judge.sandbox.limits import ProcessLimits

CPU_ARCH = "compute_90"
"""What PTX for the CPU backend is compiled for."""

_WITH_OWN_INSTRUCTIONS = {"sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"}
"""Architectures that NVRTC also knows with an `a` behind: the same, with instructions that no later one has."""

_COMMON = (
    "--std=c++17",
    f"--pre-include={PRELUDE}",
    "--no-source-include",
)
_MODES = {
    # Unoptimized code keeps every access and every uninitialized value the submitter wrote.
    "debug": ("-G",),
    # Compiles the book's flash kernel in 0.05 s instead of 15: good enough to hear that an answer is wrong.
    "fast": ("--Ofast-compile=mid", "-lineinfo"),
    # A case set needs a kernel for each of its constants; eight at a time instead of one after the other.
    "optimized": ("-lineinfo", "--split-compile=8"),
}


@dataclass(frozen=True)
class Target:
    """kind: PTX text for the CPU backend or a cubin for a GPU. arch: "compute_90", "sm_90".

    mode: "debug" (-G), "fast" (little optimization) or "optimized" (the compiler's default).
    """

    kind: Literal["ptx", "cubin"]
    arch: str
    mode: Literal["debug", "fast", "optimized"]

    @property
    def options(self) -> tuple[str, ...]:
        resources = ("--ptxas-options=-v",) if self.kind == "cubin" else ()
        # A cubin runs on this very architecture only, so it may as well use what no other has: wgmma, setmaxnreg.
        arch = f"{self.arch}a" if self.arch in _WITH_OWN_INSTRUCTIONS else self.arch
        return (f"--gpu-architecture={arch}", *_COMMON, *_MODES[self.mode], *resources)

    @property
    def wall_limit_s(self) -> float:
        return 240.0 if self.mode == "optimized" else 10.0

    @property
    def limits(self) -> ProcessLimits:
        # Twice to four times what honest sources were measured to need: 430 MiB, 2.7 s. Address space is
        # mostly reservations, which grow with the machine; data_bytes is what bounds the memory.
        return ProcessLimits(
            address_bytes=16 << 30,
            data_bytes=2 << 30 if self.mode == "optimized" else 1 << 30,
            cpu_s=int(self.wall_limit_s) * (8 if self.mode == "optimized" else 1),
            file_bytes=0,
            open_files=64,
        )
