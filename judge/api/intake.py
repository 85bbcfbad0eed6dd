"""Stores what is sent, many submissions in one transaction: a disk that must be waited for is waited for once.

One thread takes all that came while it stored the last ones. Nobody is answered before the commit that holds their
submission, and what keeps one out of the database keeps no other out.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import structlog
from sqlalchemy.exc import IntegrityError

from judge.api.errors import Refusal
from judge.store.database import Database, StoreFull, StoreUnavailable
from judge.store.desk import Desk, QueueFull, Room
from judge.store.submissions import Created, Key, KeyReused, NewSubmission, Stored, create_many

MAX_TOGETHER = 64

Choose = Callable[[set[str]], str]
"""From the queues that are served now to the one that a submission waits in. May raise Refusal."""


@dataclass(frozen=True)
class Taken:
    """What was stored, and whether a device that is ready serves its queue."""

    created: Created
    served: bool


Outcome = Taken | Exception

_log = structlog.get_logger()


@dataclass
class Member:
    """One who waits to be stored, and for whom."""

    new: NewSubmission
    choose: Choose
    key: Key | None
    answer: asyncio.Future[Taken]


class Intake:
    """Call store() from one event loop. Its thread starts with the first call and ends with the process."""

    def __init__(self, database: Database, room: Room, stored: Stored | None = None) -> None:
        self._database = database
        self._room = room
        self._stored = stored
        self._waiting: deque[Member] = deque()
        self._someone = threading.Semaphore(0)
        self._thread: threading.Thread | None = None

    async def store(self, new: NewSubmission, choose: Choose, key: Key | None = None) -> Taken:
        """The submission once it is committed, in the queue that `choose` names.

        Raises Refusal, QueueFull, KeyReused, StoreUnavailable; then nothing was stored.
        """
        loop = asyncio.get_running_loop()
        member = Member(new, choose, key, loop.create_future())
        self._waiting.append(member)
        self._someone.release()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, args=(loop,), name="judge-intake", daemon=True)
            self._thread.start()
        return await member.answer

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        while True:
            self._someone.acquire()
            members = self._next()
            if not members:
                continue
            outcomes = self.store_together(members)
            try:
                loop.call_soon_threadsafe(_answer, members, outcomes)
            except RuntimeError:
                # The loop is closed: nobody is left to be answered.
                return

    def _next(self) -> list[Member]:
        """Those that are stored together: all that wait, up to the first whose key another of them has."""
        members: list[Member] = []
        keys: set[tuple[str, str]] = set()
        while self._waiting and len(members) < MAX_TOGETHER:
            first = self._waiting[0]
            if first.key is not None:
                key = (first.new.user_id, first.key[0])
                if key in keys:
                    # Its turn comes with a release of its own.
                    self._someone.release()
                    break
                keys.add(key)
            members.append(self._waiting.popleft())
        return members

    def store_together(self, members: Sequence[Member]) -> list[Outcome]:
        """What came of each, committed. Where one spoils the transaction each gets one of its own."""
        try:
            return self._store(members)
        except StoreFull as error:
            return [error] if len(members) == 1 else [self._store_alone(member) for member in members]
        except StoreUnavailable as error:
            return [error] * len(members)
        except Exception as error:
            # A border between requests: the fault of one is told to that one alone.
            if len(members) > 1:
                _log.warning("submissions are stored one by one", kind=type(error).__name__)
            return [self._store_alone(member) for member in members]

    def _store_alone(self, member: Member) -> Outcome:
        for last in (False, True):
            try:
                return self._store([member])[0]
            except IntegrityError as error:
                # Another process stored one with this key a moment ago, or deleted the last one with this source.
                if last:
                    return error
            except Exception as error:
                return error
        raise AssertionError("the second time returns")

    def _store(self, members: Sequence[Member]) -> list[Outcome]:
        outcomes: list[Outcome | None] = []
        requests: list[tuple[NewSubmission, Key | None]] = []
        with self._database.write() as session:
            desk = Desk(session, self._room, {member.new.user_id for member in members})
            for member in members:
                try:
                    requests.append((replace(member.new, queue=member.choose(desk.served)), member.key))
                    outcomes.append(None)
                except Refusal as refusal:
                    outcomes.append(refusal)
            made = iter(create_many(session, desk, requests, self._stored))
        for at, outcome in enumerate(outcomes):
            if outcome is None:
                outcomes[at] = _told(next(made), desk.served)
        return [outcome for outcome in outcomes if outcome is not None]


def _told(made: Created | QueueFull | KeyReused, served: set[str]) -> Outcome:
    return Taken(made, made.submission.queue in served) if isinstance(made, Created) else made


def _answer(members: Sequence[Member], outcomes: Sequence[Outcome]) -> None:
    for member, outcome in zip(members, outcomes, strict=True):
        # Who went away is not waited for; what they sent is stored all the same.
        if member.answer.done():
            continue
        if isinstance(outcome, Taken):
            member.answer.set_result(outcome)
        else:
            member.answer.set_exception(outcome)
