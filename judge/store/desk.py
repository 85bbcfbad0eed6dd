"""Room, turns and places of submissions that come in one transaction: asked for once, and then counted on."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, case, func, select
from sqlalchemy.orm import Session

from judge.store.models import Submission
from judge.store.queue import in_state

_rows = Submission.__table__.c

# Each reads an index that holds only what waits or runs, and no table.
_WAITING = (
    select(_rows.queue, _rows.priority, func.count(), func.min(_rows.turn))
    .where(in_state("queued"))
    .group_by(_rows.queue, _rows.priority)
)
_OPEN = (
    select(_rows.user_id, _rows.queue, _rows.priority, func.count(), func.max(_rows.turn))
    .where(_rows.user_id.in_(bindparam("users", expanding=True)), in_state("queued", "running"))
    .group_by(_rows.user_id, _rows.queue, _rows.priority)
)
_upto = case((_rows.turn < bindparam("first"), bindparam("first")), else_=_rows.turn)
_AHEAD = (
    select(_upto.label("upto"), func.count())
    .where(
        _rows.queue == bindparam("queue"),
        in_state("queued"),
        _rows.priority == bindparam("priority"),
        _rows.turn <= bindparam("last"),
    )
    .group_by("upto")
)


@dataclass(frozen=True)
class Room:
    """How many may wait: in all, and of one user."""

    total: int = 10_000
    of_user: int = 1_000


class QueueFull(Exception):  # noqa: N818 - a state, not an error
    """No more may wait. own: it is the user's own share that is used up."""

    def __init__(self, waiting: int, *, own: bool) -> None:
        super().__init__(f"{waiting} submissions wait")
        self.waiting = waiting
        self.own = own


class Desk:
    """users: all who may come."""

    def __init__(self, session: Session, room: Room, users: Collection[str]) -> None:
        self._connection = session.connection()
        self._room = room
        self._waiting: Counter[tuple[str, int]] = Counter()
        self._come_to: dict[tuple[str, int], int] = {}
        for queue, priority, count, turn in self._connection.execute(_WAITING):
            self._waiting[queue, priority] = count
            self._come_to[queue, priority] = turn
        self._total = self._waiting.total()
        self._open: Counter[str] = Counter()
        self._turns: dict[tuple[str, str, int], int] = {}
        for user, queue, priority, count, turn in self._connection.execute(_OPEN, {"users": sorted(users)}):
            self._open[user] += count
            self._turns[user, queue, priority] = turn

    def refusal(self, user: str) -> QueueFull | None:
        """None when there is room, which is then taken."""
        if self._open[user] >= self._room.of_user:
            return QueueFull(self._open[user], own=True)
        if self._total >= self._room.total:
            return QueueFull(self._total, own=False)
        self._open[user] += 1
        self._total += 1
        return None

    def turn(self, user: str, queue: str, priority: int) -> int:
        """The turn of this user's next submission, as judge.store.queue tells the order."""
        own = self._turns.get((user, queue, priority), 0)
        turn = max(self._come_to.get((queue, priority), 1), own + 1)
        self._turns[user, queue, priority] = turn
        return turn

    def places(self, fresh: Sequence[Submission]) -> dict[str, int]:
        """The place of each in its queue, 1 for what is next. To be asked before they are stored, in this order."""
        ahead = self._ahead(fresh)
        places: dict[str, int] = {}
        ranks: Counter[str] = Counter()
        # Sorting is stable: of the same turn the first to come is the first.
        for one in sorted(fresh, key=lambda one: (one.priority, one.turn)):
            more_urgent = sum(
                count
                for (queue, priority), count in self._waiting.items()
                if queue == one.queue and priority < one.priority
            )
            ranks[one.queue] += 1
            places[one.id] = more_urgent + ahead[one.queue, one.priority, one.turn] + ranks[one.queue]
        return places

    def _ahead(self, fresh: Iterable[Submission]) -> dict[tuple[str, int, int], int]:
        """How many wait already with the same urgency, up to each turn."""
        turns: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
        for one in fresh:
            turns[one.queue, one.priority].add(one.turn)
        ahead: dict[tuple[str, int, int], int] = {}
        for (queue, priority), wanted in turns.items():
            asked = {"queue": queue, "priority": priority, "first": min(wanted), "last": max(wanted)}
            known = sorted((upto, count) for upto, count in self._connection.execute(_AHEAD, asked))
            sums = list(itertools.accumulate((count for _, count in known), initial=0))
            for turn in wanted:
                ahead[queue, priority, turn] = sums[sum(upto <= turn for upto, _ in known)]
        return ahead
