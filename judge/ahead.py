"""The next case runs while the values of the last one are compared, so that neither the worker nor the judge waits."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from judge.worker.messages import CaseResult


class Ahead:
    """At most one case that runs in a thread of its own; a context manager.

    Only one thread may talk to a worker: whoever uses it beside this calls settle() first. give_up: kills the worker,
    for an end by an exception, which must not wait for the case.
    """

    def __init__(self, give_up: Callable[[], None]) -> None:
        self._give_up = give_up
        self._thread: ThreadPoolExecutor | None = None
        self._running: Future[CaseResult] | None = None
        self._name = ""

    def __enter__(self) -> "Ahead":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and self._running is not None and not self._running.done():
            self._give_up()
        if self._thread is not None:
            self._thread.shutdown(wait=True)
        self._running = None

    def start(self, name: str, run: Callable[[], CaseResult]) -> None:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="next-case")
        self._name = name
        self._running = self._thread.submit(run)

    def settle(self) -> None:
        """Wait until nothing runs; the result is kept."""
        if self._running is not None:
            self._running.exception()

    def take(self, name: str) -> CaseResult | None:
        """The result of a case that was started, awaited; None for another one. Raises what its run raised."""
        if self._running is None or self._name != name:
            return None
        running, self._running = self._running, None
        return running.result()
