"""Wakes whoever watches a submission when it changes.

One query for all of them together, a few times a second and only while somebody watches: a thousand watchers cost
the database as much as one.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from starlette.concurrency import run_in_threadpool

from judge.dispatch.bell import Bell
from judge.store.database import Database, StoreUnavailable
from judge.store.submissions import changes

LOOK_S = 0.04
LOOK_WITH_BELL_S = 0.2
BATCH = 500


class Hub:
    """bell: rung by those of this machine who change something; without one the hub looks by itself, and more often.

    So it does on PostgreSQL, where others may change something too.
    """

    def __init__(self, database: Database, bell: Bell | None = None) -> None:
        self._database = database
        self._bell = bell
        self._look_s = LOOK_WITH_BELL_S if database.sqlite else LOOK_S
        self._watchers: dict[str, set[asyncio.Event]] = {}
        self._known: dict[str, tuple[str, int]] = {}
        self._someone = asyncio.Event()
        self.closing = False

    @contextmanager
    def watching(self, submission_id: str) -> Iterator[asyncio.Event]:
        """An event that is set at every change; whoever waits for it clears it before reading."""
        changed = asyncio.Event()
        self._watchers.setdefault(submission_id, set()).add(changed)
        self._someone.set()
        try:
            yield changed
        finally:
            self._watchers[submission_id].discard(changed)
            if not self._watchers[submission_id]:
                del self._watchers[submission_id]
                self._known.pop(submission_id, None)

    def state(self, submission_id: str) -> str | None:
        """The state of a submission that is watched, as it was last told; None before the first time."""
        known = self._known.get(submission_id)
        return None if known is None else known[0]

    def close(self) -> None:
        """Wake everybody for the last time: the server ends."""
        self.closing = True
        for watchers in self._watchers.values():
            for changed in watchers:
                changed.set()

    async def run(self) -> None:
        while True:
            if not self._watchers:
                self._someone.clear()
                await self._someone.wait()
            ids = list(self._watchers)
            # While the store is away nobody can be told anything.
            with suppress(StoreUnavailable):
                for start in range(0, len(ids), BATCH):
                    self._tell(await run_in_threadpool(self._look, ids[start : start + BATCH]))
            await self._pause()

    async def _pause(self) -> None:
        """Until it is time for the next look."""
        if self._bell is None:
            await asyncio.sleep(LOOK_S)
            return
        rung = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(self._bell.descriptor, rung.set)
        try:
            async with asyncio.timeout(self._look_s):
                await rung.wait()
        except TimeoutError:
            return
        finally:
            loop.remove_reader(self._bell.descriptor)
        self._bell.drain()

    def _look(self, ids: list[str]) -> dict[str, tuple[str, int]]:
        with self._database.read() as session:
            return changes(session, ids)

    def _tell(self, found: dict[str, tuple[str, int]]) -> None:
        for submission_id, state in found.items():
            if self._known.get(submission_id) == state:
                continue
            self._known[submission_id] = state
            for changed in self._watchers.get(submission_id, ()):
                changed.set()
