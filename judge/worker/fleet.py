"""Workers of every GPU of a machine: a warm pool for each, and a submission goes where fewest wait.

What runs on one GPU never waits for another; timing has its own GPU alone (timing/exclusive.py).
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import TracebackType

from judge.errors import MachineError
from judge.gpu import gpu_count
from judge.worker.pool import Loan, Pool
from judge.worker.session import OneWorker, StartWorker
from judge.worker.supervisor import Kind, Worker


class Fleet:
    """A context manager. ordinals: GPUs to use, all of the machine when None. warm: workers kept ready for each.

    undisturbed_s: so long after a worker was taken the start of the next one is put off, as Pool.lend() says.
    Raises MachineError where there is no GPU.
    """

    def __init__(
        self,
        ordinals: Sequence[int] | None = None,
        warm: int = 2,
        make_pool: Callable[[int, int], Pool] | None = None,
        *,
        undisturbed_s: float = 0.0,
    ) -> None:
        self._undisturbed_s = undisturbed_s
        self.ordinals = tuple(range(gpu_count()) if ordinals is None else ordinals)
        if not self.ordinals:
            raise MachineError("No NVIDIA GPU on this machine.")
        make = make_pool or _pool
        self._stack = ExitStack()
        self._pools = {ordinal: self._stack.enter_context(make(ordinal, warm)) for ordinal in self.ordinals}
        self._change = threading.Condition()
        self._busy = dict.fromkeys(self.ordinals, 0)

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def busy(self) -> dict[int, int]:
        """Submissions on each GPU now."""
        with self._change:
            return dict(self._busy)

    def place(self) -> AbstractContextManager[StartWorker]:
        """A place for one submission on the GPU that has fewest: what starts its workers, all on that GPU."""
        return self._placed()

    @contextmanager
    def _placed(self) -> Iterator[StartWorker]:
        with self._change:
            ordinal = min(self.ordinals, key=lambda one: self._busy[one])
            self._busy[ordinal] += 1
        try:
            yield self._starter(ordinal)
        finally:
            with self._change:
                self._busy[ordinal] -= 1

    def _starter(self, ordinal: int) -> StartWorker:
        def start(kind: Kind) -> OneWorker:
            if kind == "cpu":
                return Worker("cpu")
            loan: Loan = self._pools[ordinal].lend(undisturbed_s=self._undisturbed_s)
            return loan

        return start


def _pool(ordinal: int, warm: int) -> Pool:
    return Pool("cuda", warm, lambda: Worker("cuda", ordinal=ordinal))
