"""Where kernels of a problem's package run while it is verified in brief: without a process for each.

Starting a worker and a compile box costs several times what judging a small kernel takes. A stranger's submission is
worth that. A package is trusted already: its `problem.py` is imported by whoever verifies it. So here the CPU device
lives in the verifying process, fresh for each kernel, and a compile box serves many sources, one after the other.
"""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from judge.backends.base import DeviceProperties, ModuleImage
from judge.backends.cpu.device import CpuDevice
from judge.compiler import Compilation, Target, compile_unit
from judge.compiler.boxed import Answer, Box
from judge.compiler.compile import Compiler
from judge.compiler.headers import HeaderSet
from judge.submission.unit import TranslationUnit
from judge.worker.execution import run_case
from judge.worker.messages import CaseRequest, CaseResult, Isolation
from judge.worker.session import OneWorker
from judge.worker.supervisor import Kind, Worker

BOX_USE_S = 5.0
"""A box is replaced when it has compiled for so long: its processor time is limited, as that of one source is."""


class ResidentWorker:
    """As a Worker of the CPU backend, in this process. A kernel that never ends is ended by the device itself."""

    isolation: Isolation = "none"
    isolation_reasons = ("kernels of a problem's package run in the process that verifies it",)

    def __init__(self) -> None:
        self.alive = True
        self._device = CpuDevice()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ready(self) -> DeviceProperties:
        return self._device.properties

    def load(self, image: ModuleImage) -> None:
        """Raises DeviceFault as Worker.load() where the device does not take the module."""
        self._device.load(image.image, image.source)

    def run_case(self, request: CaseRequest) -> CaseResult:
        result = run_case(self._device, request)
        self.alive = not result.fatal
        return result

    def cancel(self) -> None:
        """Whoever verifies waits for the case that runs; the device ends it at its limit."""
        self.alive = False

    def close(self) -> None:
        self.alive = False


class Workshop:
    """Gives workers and compiles; a context manager that leaves no process behind. For one thread."""

    def __init__(self) -> None:
        self._boxes: dict[Target, Box] = {}
        self._used_s: dict[Target, float] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        while self._boxes:
            self._boxes.popitem()[1].close()

    def start(self, kind: Kind) -> OneWorker:
        """A worker of a kind: resident for the CPU, a process of its own for a GPU."""
        return ResidentWorker() if kind == "cpu" else Worker(kind)

    def compile(self, unit: TranslationUnit, target: Target) -> Compilation:
        """As compile_unit(), in a box that others were compiled in before."""
        return compile_unit(unit, target, box=self.turn)

    def turn(self, target: Target) -> Compiler:
        """A source's turn in a box that others were compiled in before."""
        return _Turn(self, target)

    def box(self, target: Target) -> Box:
        """The box for a target. Raises MachineError where none comes up."""
        known = self._boxes.get(target)
        if known is not None and (not known.alive or self._used_s[target] > BOX_USE_S):
            self._boxes.pop(target).close()
            known = None
        if known is None:
            known = self._boxes[target] = Box(target)
            known.wait_until_sealed()
            self._used_s[target] = 0.0
        return known

    def used(self, target: Target, seconds: float, answer: Answer) -> None:
        """A box has compiled; one that met a limit is of no further use."""
        self._used_s[target] += seconds if answer.limit is None else BOX_USE_S + 1.0


class _Turn:
    """A source's turn in a box of the workshop."""

    def __init__(self, workshop: Workshop, target: Target) -> None:
        self._workshop = workshop
        self._target = target

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """The box is for the next one."""

    def compile(
        self, source: str, source_name: str, name_expressions: Sequence[str], headers: HeaderSet, target: Target
    ) -> Answer:
        box = self._workshop.box(self._target)
        began = time.monotonic()
        answer = box.compile(source, source_name, name_expressions, headers, target)
        self._workshop.used(self._target, time.monotonic() - began, answer)
        return answer
