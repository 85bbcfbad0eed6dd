"""Work that a page asked for and that takes seconds: one piece at a time in a thread, the rest wait.

What comes of it lies in the compiler's cache, where the next look at the page finds it. Only why something failed is
kept here, and only for as long as the process lives.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from judge.api.errors import Refusal
from judge.errors import JudgeError

MAX_WAITING = 8
MAX_OF_USER = 2
_MAX_FAILURES = 200
_UNFORESEEN = "The judge failed; its log says why."


@dataclass(frozen=True)
class _Job:
    key: str
    user_id: str
    work: Callable[[], None]


class Desk:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: list[_Job] = []
        self._failures: OrderedDict[str, str] = OrderedDict()
        self._thread: threading.Thread | None = None

    def ask(self, key: str, user_id: str, work: Callable[[], None]) -> None:
        """Have it done, once however often it is asked for. work: raises JudgeError with the reason when it fails.

        Raises Refusal where too much waits.
        """
        with self._lock:
            if any(job.key == key for job in self._jobs):
                return
            if sum(job.user_id == user_id for job in self._jobs) >= MAX_OF_USER:
                told = f"{MAX_OF_USER} of your compilations wait or run. Look at them first."
                raise Refusal("too_many_waiting", told, headers={"Retry-After": "10"})
            if len(self._jobs) >= MAX_WAITING:
                told = f"{len(self._jobs)} compilations for pages wait. Try again later."
                raise Refusal("queue_full", told, headers={"Retry-After": "30"})
            self._failures.pop(key, None)
            self._jobs.append(_Job(key, user_id, work))
            if self._thread is None:
                self._start()

    def place(self, key: str) -> int | None:
        """1 for what is being done, 2 and on for what waits; None for what does neither."""
        with self._lock:
            return next((at for at, job in enumerate(self._jobs, start=1) if job.key == key), None)

    def failure(self, key: str) -> str:
        """Why it failed when it was last done; empty where it did not."""
        with self._lock:
            return self._failures.get(key, "")

    def _start(self) -> None:
        # A daemon: the end of the process ends it, and the box of its compiler with it.
        self._thread = threading.Thread(target=self._work, name="judge-desk", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._thread = None
                    return
                job = self._jobs[0]
            told = _UNFORESEEN
            try:
                job.work()
                told = ""
            except JudgeError as error:
                told = str(error)
            finally:
                with self._lock:
                    self._jobs.remove(job)
                    if told is _UNFORESEEN:
                        # The fault ends this thread; another one does the rest.
                        self._thread = None
                        if self._jobs:
                            self._start()
                    if told:
                        self._failures[job.key] = told
                        while len(self._failures) > _MAX_FAILURES:
                            self._failures.popitem(last=False)
