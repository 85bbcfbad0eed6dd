"""Launches on the reference interpreter, for machines the JIT has not been tried on.

A thousand times slower and without the detectors of races and uninitialised reads; bounds, alignment,
barriers, traps and values are judged as everywhere.
"""

from judge.backends.cpu import ir
from judge.backends.cpu.events import Coordinates
from judge.backends.cpu.executor import LaunchResult
from judge.backends.cpu.interpreter import run_kernel
from judge.backends.cpu.lowering.layout import CtaShape
from judge.backends.cpu.memory import DeviceMemory

INSTRUCTIONS_PER_SECOND = 100_000
"""Warp instructions that stand for a second of a time limit."""


class ReferenceExecutor:
    """Has the interface of JitExecutor."""

    def kernel(self, module: ir.Module, name: str) -> ir.Kernel:
        return module.kernels[name]

    def prepare(self, module: ir.Module, name: str, *, shape: CtaShape) -> None:
        """Nothing is made ahead of the launch."""

    def run(
        self,
        module: ir.Module,
        kernel: str,
        grid: Coordinates,
        block: Coordinates,
        shared_bytes: int,
        arguments: bytes,
        memory: DeviceMemory,
        *,
        time_limit_s: float | None = None,
        schedule: int = 0,
        patterns: bool = False,
    ) -> LaunchResult:
        """Run one launch; see JitExecutor.run. Raises NotEmulatedError and KeyError as it does.

        It counts nothing, access patterns neither.
        """
        limit = int((time_limit_s or 600.0) * INSTRUCTIONS_PER_SECOND)
        done = run_kernel(module, kernel, grid, block, shared_bytes, arguments, memory, limit, schedule)
        return LaunchResult(
            events=done.events,
            printed=done.printed,
            stopped="time" if done.stopped == "budget" else done.stopped,
            counted=False,
        )
