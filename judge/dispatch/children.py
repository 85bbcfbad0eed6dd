"""Child processes that are kept alive: each is started again when it ends, slower when it keeps ending.

A child dies with its parent, whatever ends that.
"""

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from judge.starting import command

_PR_SET_PDEATHSIG = 1
FIRST_PAUSE_S = 0.1
MAX_PAUSE_S = 10.0
STOPPED_LIMIT_S = 30.0
STEADY_S = 10.0
"""A child that lived so long starts again without a pause."""

_PARENT_VARIABLE = "JUDGE_PARENT"
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass
class Child:
    """module: what `python -m` runs. variables: its settings, kept out of the command line, which others may read.

    ended: called with the process id of each process of it that is gone, before the next one starts.
    """

    name: str
    module: str
    variables: Mapping[str, str]
    descriptors: Sequence[int] = ()
    ended: Callable[[int], None] | None = None
    pause_s: float = FIRST_PAUSE_S
    process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)
    _started: float = field(default=0.0, init=False)
    _due: float = field(default=0.0, init=False)
    _stopped_at: float | None = field(default=None, init=False)

    def start(self) -> None:
        self._started = time.monotonic()
        self.process = subprocess.Popen(
            command(self.module),
            env={**os.environ, **self.variables, _PARENT_VARIABLE: str(os.getpid())},
            pass_fds=tuple(self.descriptors),
            stdin=subprocess.DEVNULL,
            # A Ctrl-C on the terminal is for the parent, which then ends its children in order.
            start_new_session=True,
        )

    def watch(self) -> bool:
        """Start it again when it is due; True when it was found dead just now."""
        now = time.monotonic()
        if self.process is None:
            if now >= self._due:
                self.start()
            return False
        if self.process.poll() is None:
            self._end_if_stopped(now)
            return False
        self.pause_s = FIRST_PAUSE_S if now - self._started > STEADY_S else min(2 * self.pause_s, MAX_PAUSE_S)
        self._due = now + self.pause_s
        pid, self.process = self.process.pid, None
        if self.ended is not None:
            self.ended(pid)
        return True

    def _end_if_stopped(self, now: float) -> None:
        """Kill it when it has been stopped for too long: it may hold a lock that everything else waits for."""
        assert self.process is not None
        try:
            state = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
        except (OSError, UnicodeError, IndexError):
            return
        if state not in {"T", "t"}:
            self._stopped_at = None
        elif self._stopped_at is None:
            self._stopped_at = now
        elif now - self._stopped_at > STOPPED_LIMIT_S:
            self.process.kill()

    def terminate(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def finish(self, deadline: float) -> None:
        """Wait for its end until a moment of time.monotonic(), then kill it."""
        if self.process is None:
            return
        try:
            self.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def die_with_parent() -> None:
    """For the first line of a child: be killed when the thread that started it ends, at once if it has already."""
    parent = int(os.environ.pop(_PARENT_VARIABLE, "0"))
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent and os.getppid() != parent:
        os._exit(1)
