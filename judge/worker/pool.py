"""Warm workers in reserve: each is handed out once, and the next one is started behind it.

A worker takes about a second to import, open its device and be sealed. A service cannot let a
submission wait for that, and cannot use a worker twice either, so some stand ready.
"""

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType

from judge.backends.base import DeviceProperties, ModuleImage
from judge.errors import MachineError
from judge.timing.exclusive import gpu_lock
from judge.worker.messages import CaseRequest, CaseResult, Isolation
from judge.worker.supervisor import Kind, Worker

RETRY_S = 1.0
"""Pause before the next try where a worker did not come up; doubled up to MAX_RETRY_S."""

MAX_RETRY_S = 30.0
MAX_AGE_S = 900.0
"""A worker that waited longer is replaced: a driver or a library may have been changed since."""


class PoolClosed(Exception):  # noqa: N818 - the end of a service, not an error
    """The pool gives out no more workers."""


class Loan:
    """A pool's worker in the hands of one submission, never of a second once it was given a module.

    Whoever holds a loan that was closed holds nothing: the worker may be another's by then.
    """

    def __init__(self, pool: "Pool", worker: Worker) -> None:
        self._pool = pool
        self._worker = worker
        self._used = False
        self._closed = False
        self.isolation: Isolation = worker.isolation
        self.isolation_reasons = worker.isolation_reasons
        self._properties = worker.ready()

    def __enter__(self) -> "Loan":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        return not self._closed and self._worker.alive

    def ready(self) -> DeviceProperties:
        return self._properties

    def load(self, image: ModuleImage) -> None:
        """As Worker.load(). Raises ValueError on a loan that was closed."""
        self._use()
        self._worker.load(image)

    def run_case(self, request: CaseRequest) -> CaseResult:
        """As Worker.run_case(). Raises ValueError on a loan that was closed."""
        self._use()
        return self._worker.run_case(request)

    def cancel(self) -> None:
        """Kill the worker from any thread; what the holder of the loan waits for then ends as cancelled."""
        if not self._closed:
            self._used = True
            self._worker.cancel()

    def _use(self) -> None:
        if self._closed:
            raise ValueError("this loan was closed; its worker may be another's")
        self._used = True

    def close(self) -> None:
        """Give the worker back, or kill it if it was used, without waiting for its end; safe to call twice."""
        if self._closed:
            return
        self._closed = True
        self._pool.hurry()
        if self._used:
            self._pool.retire(self._worker, self._properties.address)
        else:
            self._pool.take_back(self._worker)


class Pool:
    """Keeps `size` workers of a kind warm; a context manager that leaves none behind.

    start: makes a worker; the default starts one of this kind on the first GPU. May be used from many threads.
    """

    def __init__(self, kind: Kind, size: int, start: Callable[[], Worker] | None = None) -> None:
        if size < 1:
            raise ValueError(f"a pool of {size} workers gives out none")
        self.kind = kind
        self.size = size
        self._make = start or (lambda: Worker(kind))
        self._change = threading.Condition()
        self._ready: deque[tuple[float, Worker]] = deque()
        self._wanted = 0
        self._quiet_until = 0.0
        self._starting: Worker | None = None
        self._burials: list[threading.Thread] = []
        self._failure: MachineError | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._refill, name=f"judge-pool-{kind}", daemon=True)
        self._thread.start()

    def __enter__(self) -> "Pool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def warm(self) -> int:
        """How many workers stand ready."""
        with self._change:
            return len(self._ready)

    @property
    def failure(self) -> str:
        """Why the last worker did not come up; empty when it did."""
        with self._change:
            return "" if self._failure is None else str(self._failure)

    def take(self, timeout_s: float = 120.0) -> Worker:
        """A warm worker, which now belongs to the caller, who closes it.

        Raises MachineError when none comes up in time, with the reason of the last failure, and PoolClosed.
        """
        deadline = time.monotonic() + timeout_s
        with self._change:
            self._wanted += 1
            self._change.notify_all()
            try:
                while True:
                    if self._closed:
                        raise PoolClosed
                    if self._ready:
                        _, worker = self._ready.popleft()
                        self._change.notify_all()
                        if worker.alive and worker.responds():
                            return worker
                        # It died while it waited; its end is the machine's affair and the next one may do.
                        worker.close()
                        continue
                    if not self._change.wait(max(0.0, deadline - time.monotonic())):
                        raise self._failure or MachineError(f"no {self.kind} worker came up within {timeout_s:g} s")
            finally:
                self._wanted -= 1

    def lend(self, timeout_s: float = 120.0, *, undisturbed_s: float = 0.0) -> "Loan":
        """A warm worker that comes back when it is closed unused, as after a compile error. Raises as take().

        undisturbed_s: so long the start of the next one is put off, unless the loan ends before or somebody waits.
        """
        with self._change:
            self._quiet_until = time.monotonic() + undisturbed_s
        return Loan(self, self.take(timeout_s))

    def hurry(self) -> None:
        """Start what is lacking now."""
        with self._change:
            self._quiet_until = 0.0
            self._change.notify_all()

    def take_back(self, worker: Worker) -> None:
        """Take a worker that was given nothing of a submission; one that is too many or died is ended."""
        with self._change:
            if not self._closed and len(self._ready) <= self.size and worker.responds():
                self._ready.append((time.monotonic(), worker))
                self._change.notify_all()
                return
        worker.close()

    def retire(self, worker: Worker, address: str) -> None:
        """Kill a worker that was used. What else there is to its end, half a second on a GPU, nobody waits for.

        address: of its GPU, empty for the CPU.
        """
        worker.cancel()
        burial = threading.Thread(target=self._bury, args=(worker, address), name="judge-burial", daemon=True)
        with self._change:
            closed = self._closed
            self._burials = [one for one in self._burials if one.is_alive()] + [burial]
            burial.start()
        if closed:
            burial.join()

    def _bury(self, worker: Worker, address: str) -> None:
        try:
            # While the driver tidies up after it, nothing is timed on its GPU.
            with gpu_lock(address).shared():
                worker.close()
        except MachineError as error:
            with self._change:
                self._failure = error

    def close(self) -> None:
        """End all workers that were not handed out, and wait for those that were retired; safe to call twice."""
        with self._change:
            self._closed = True
            if self._starting is not None:
                self._starting.cancel()
            self._change.notify_all()
        self._thread.join()
        with self._change:
            left = [worker for _, worker in self._ready]
            self._ready.clear()
            burials = list(self._burials)
        for worker in left:
            worker.close()
        for burial in burials:
            burial.join()

    def _refill(self) -> None:
        pause_s = RETRY_S
        while True:
            with self._change:
                while not self._closed and not self._lacks_one():
                    left_s = self._quiet_until - time.monotonic()
                    self._change.wait(left_s if left_s > 0 else MAX_AGE_S / 10)
                if self._closed:
                    return
            worker: Worker | None = None
            try:
                worker = self._make()
                with self._change:
                    self._starting = worker
                    if self._closed:
                        worker.cancel()
                worker.ready()
            except MachineError as error:
                if worker is not None:
                    with contextlib.suppress(MachineError):
                        worker.close()
                with self._change:
                    self._starting = None
                    self._failure = error
                    self._change.wait_for(lambda: self._closed, pause_s)
                pause_s = min(2 * pause_s, MAX_RETRY_S)
                continue
            pause_s = RETRY_S
            with self._change:
                self._starting = None
                self._failure = None
                self._ready.append((time.monotonic(), worker))
                self._change.notify_all()

    def _lacks_one(self) -> bool:
        """Whether a worker should be started; drops one that is too old for use."""
        if self._ready and time.monotonic() - self._ready[0][0] > MAX_AGE_S:
            self._ready.popleft()[1].close()
        quiet = time.monotonic() < self._quiet_until
        return len(self._ready) < (self._wanted if quiet else max(self.size, self._wanted))
