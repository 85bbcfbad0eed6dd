"""Whose turn it is on a GPU: timing has it alone, everything else shares it.

Two lock files a GPU in the machine's temporary folder, held through flock, so that they end with their
holder. Who wants the GPU takes the gate first, then the lock, and lets go of the gate: one that waits to time
keeps the gate, and those that would share come after it. Judges of all users of the machine agree on them.
"""

import fcntl
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from judge.timing.neighbors import Watch

PATIENCE_S = 1.0
"""After so long a wait the user is told."""

_POLL_S = 0.02


class GpuLock:
    """The lock of one GPU. identity: its UUID or PCI address; an empty one locks nothing (a device that is no GPU)."""

    def __init__(self, identity: str, folder: Path | None = None) -> None:
        self._stem = re.sub(r"[^\w.-]", "_", identity)
        self._folder = folder or Path(tempfile.gettempdir())

    @contextmanager
    def shared(self, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
        """For work that others may disturb and that disturbs timing. waiting: called once when it takes long."""
        with self._held(fcntl.LOCK_SH, waiting):
            yield

    @contextmanager
    def alone(self, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
        """For timing."""
        with self._held(fcntl.LOCK_EX, waiting):
            yield

    @contextmanager
    def _held(self, how: int, waiting: Callable[[], None]) -> Iterator[None]:
        if not self._stem:
            yield
            return
        gate, lock = (self._open(part) for part in ("gate", "lock"))
        try:
            told = _take(gate, fcntl.LOCK_EX, waiting, told=False)
            _take(lock, how, waiting, told=told)
            fcntl.flock(gate, fcntl.LOCK_UN)
            yield
        finally:
            os.close(lock)
            os.close(gate)

    def _open(self, part: str) -> int:
        path = self._folder / f"kernel-judge-gpu-{self._stem}.{part}"
        try:
            # Without O_CREAT first: in a sticky folder the kernel may refuse it for another user's file.
            return os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            # The umask took bits away that other users' judges need.
            os.fchmod(descriptor, 0o666)
            return descriptor


def gpu_lock(address: str) -> GpuLock:
    """The lock of the GPU at a PCI address; an empty address is that of no GPU."""
    return GpuLock(Watch(address).uuid or address)


def _take(descriptor: int, how: int, waiting: Callable[[], None], *, told: bool) -> bool:
    """Wait for a lock; whether the user was told of the wait."""
    began = time.monotonic()
    while True:
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
            return told
        except BlockingIOError:
            if not told and time.monotonic() - began > PATIENCE_S:
                waiting()
                told = True
            time.sleep(_POLL_S)
