"""Finding attempts whose holder is gone, without trusting any clock of another machine.

A holder counts a beat up (judge.store.queue.beat). An attempt is lost when its beat stood still for LEASE_S of this
process's own monotonic time, seen in several looks: a jump of the wall clock, a clock that differs between machines
and a pause of this process itself take no lease from anybody.
"""

import math
import time
from collections.abc import Callable

from judge.store.database import Database, StoreUnavailable
from judge.store.queue import Lease, lose, running_attempts

BEAT_S = 1.0
LEASE_S = 15.0
LOOK_S = 2.0


class LeaseWatch:
    """Call look() about every LOOK_S; it requeues what was lost."""

    def __init__(
        self,
        database: Database,
        lease_s: float = LEASE_S,
        look_s: float = LOOK_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._lease_s = lease_s
        self._look_s = look_s
        self._clock = clock
        self._last_look = clock()
        self._still: dict[Lease, tuple[int, float]] = {}

    def look(self) -> list[Lease]:
        """Requeue or park every lost attempt; gives those. Raises StoreUnavailable."""
        now = self._clock()
        # A long time without a look proves nothing about those who were not looked at.
        passed = min(now - self._last_look, 2 * self._look_s)
        self._last_look = now
        with self._database.read() as session:
            running = running_attempts(session)
        still: dict[Lease, tuple[int, float]] = {}
        lost = []
        for lease, worker, beat in running:
            known_beat, quiet_s = self._still.get(lease, (beat, 0.0))
            quiet_s = quiet_s + passed if known_beat == beat and lease in self._still else 0.0
            if quiet_s < self._lease_s:
                still[lease] = (beat, quiet_s)
                continue
            try:
                with self._database.write() as session:
                    if lose(session, lease, beat, f"worker {worker} gave no sign of life"):
                        lost.append(lease)
            except StoreUnavailable:
                # Its holder may have been stopped with the row locked; the others need not wait for that.
                still[lease] = (beat, quiet_s)
        self._still = still
        return lost

    def take_from(self, worker_name: str | None, died_at: float = math.inf) -> list[Lease]:
        """Requeue at once what this worker held, every worker when None: its process is known to be dead.

        died_at: seconds of the wall clock that they share. What began later is held by another process of that name.
        """
        lost = []
        with self._database.read() as session:
            running = running_attempts(session, began_before=died_at)
        for lease, worker, beat in running:
            if worker_name in (None, worker):
                with self._database.write() as session:
                    if lose(session, lease, beat, f"worker {worker} died"):
                        lost.append(lease)
        return lost
