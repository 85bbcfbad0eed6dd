"""Wakes a process of this machine the moment another one has stored something; nobody depends on it.

A bell is an eventfd that children inherit. Who waits looks by itself too, a little later: a ring that is lost, or
one too many, costs a look at the database.
"""

import os
import select
from contextlib import suppress


class Bell:
    """descriptor: of an eventfd that another process made; a new one when None."""

    def __init__(self, descriptor: int | None = None) -> None:
        flags = os.EFD_CLOEXEC | os.EFD_NONBLOCK | os.EFD_SEMAPHORE
        self.descriptor: int = os.eventfd(0, flags) if descriptor is None else descriptor

    def ring(self) -> None:
        """Wake one of those who wait, or the next one to come."""
        with suppress(BlockingIOError):
            os.eventfd_write(self.descriptor, 1)

    def wait(self, limit_s: float) -> bool:
        """Wait for a ring, which is then used up; False when none came in time."""
        poller = select.poll()
        poller.register(self.descriptor, select.POLLIN)
        return bool(poller.poll(1000 * limit_s)) and self.take()

    def take(self) -> bool:
        """Use up a ring without waiting for one."""
        with suppress(BlockingIOError):
            os.eventfd_read(self.descriptor)
            return True
        return False

    def drain(self) -> None:
        """Use up all of them: one look is as good as many."""
        while self.take():
            pass


def bell_of(descriptor: int) -> Bell | None:
    """The bell that was inherited, None for -1."""
    return None if descriptor < 0 else Bell(descriptor)
