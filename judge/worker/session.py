"""Runs the cases of one compiled submission on one kind of device, over as many workers as it takes.

A case that kills its worker costs only itself: the next case gets a fresh one with the same module.
"""

from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Protocol, Self

from judge.backends.base import DeviceProperties, ModuleImage
from judge.worker.messages import CaseRequest, CaseResult, Isolation
from judge.worker.supervisor import Kind, Worker


class OneWorker(Protocol):
    """What a submission asks of its worker: a Worker, or one on loan from a pool."""

    @property
    def alive(self) -> bool: ...

    @property
    def isolation(self) -> Isolation: ...

    @property
    def isolation_reasons(self) -> tuple[str, ...]: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def ready(self) -> DeviceProperties: ...

    def load(self, image: ModuleImage) -> None: ...

    def run_case(self, request: CaseRequest) -> CaseResult: ...

    def cancel(self) -> None: ...

    def close(self) -> None: ...


StartWorker = Callable[[Kind], OneWorker]
"""Where workers come from: Worker itself, or a pool that keeps some warm."""


class Session:
    """A context manager. worker: one that was started early, so that its start hides behind the compiler."""

    def __init__(self, kind: Kind, worker: OneWorker | None = None, start: StartWorker = Worker) -> None:
        self.kind = kind
        self._start = start
        self._worker = worker or start(kind)
        self._spent: list[OneWorker] = []
        self._image: ModuleImage | None = None

    def __enter__(self) -> "Session":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def properties(self) -> DeviceProperties:
        """Raises MachineError when the device is not there."""
        return self._worker.ready()

    @property
    def isolation(self) -> Isolation:
        """How far the worker is cut off; known once properties() came back."""
        return self._worker.isolation

    @property
    def isolation_reasons(self) -> tuple[str, ...]:
        """What keeps the worker from being cut off further; empty when it is isolated."""
        return self._worker.isolation_reasons

    def load(self, image: ModuleImage) -> None:
        """Load the module now and into every worker to come.

        Raises DeviceFault when the device refuses it.
        """
        self._image = image
        self._worker.load(image)

    def restart(self, image: ModuleImage) -> None:
        """Go on with another module in a fresh process: nothing the first one stored can reach it.

        The process before idles until the session closes: while a GPU's driver tidies up after a process, half a
        second, the cases of the next one would wait.
        """
        if self._worker.alive:
            self._spent.append(self._worker)
        else:
            self._worker.close()
        self._worker = self._start(self.kind)
        self.load(image)

    def run_case(self, request: CaseRequest) -> CaseResult:
        if not self._worker.alive and self._image is not None:
            self.restart(self._image)
        return self._worker.run_case(request)

    def cancel(self) -> None:
        """Kill the worker from any thread; the case that runs ends as cancelled."""
        self._worker.cancel()

    def close(self) -> None:
        with ExitStack() as ends:
            for worker in (*self._spent, self._worker):
                ends.callback(worker.close)
