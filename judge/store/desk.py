"""Room, turns and places of submissions that come in one transaction: asked for once, and then counted on."""

import bisect
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, String, any_, bindparam, case, func, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from judge.store.devices import SERVING, queues_of
from judge.store.models import Submission
from judge.store.queue import in_state
from judge.store.together import Rows, Together

_rows = Submission.__table__.c

# Each reads an index that holds only what waits or runs, and no table.
_WAITING = (
    select(_rows.queue, _rows.priority, func.count(), func.min(_rows.turn))
    .where(in_state("queued"))
    .group_by(_rows.queue, _rows.priority)
)


def _open(theirs: ColumnElement[bool]) -> Select[Any]:
    return (
        select(_rows.user_id, _rows.queue, _rows.priority, func.count(), func.max(_rows.turn))
        .where(theirs, in_state("queued", "running"))
        .group_by(_rows.user_id, _rows.queue, _rows.priority)
    )


_OPEN = {
    "sqlite": _open(_rows.user_id.in_(bindparam("users", expanding=True))),
    # One text, however many they are: it is prepared once.
    "postgresql": _open(_rows.user_id == any_(bindparam("users", type_=ARRAY(String)))),
}
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
    """users: all who may come. served: the queues of devices that are ready or about to be."""

    def __init__(self, session: Session, room: Room, users: Collection[str]) -> None:
        self._room = room
        with Together(session) as together:
            serving = together.ask(SERVING)
            waiting = together.ask(_WAITING)
            open_ = together.ask(_OPEN[session.get_bind().dialect.name], {"users": sorted(users)})
        self.served = queues_of(serving())
        self._waiting: Counter[tuple[str, int]] = Counter()
        self._come_to: dict[tuple[str, int], int] = {}
        for queue, priority, count, turn in waiting():
            self._waiting[queue, priority] = count
            self._come_to[queue, priority] = turn
        self._total = self._waiting.total()
        self._open: Counter[str] = Counter()
        self._turns: dict[tuple[str, str, int], int] = {}
        for user, queue, priority, count, turn in open_():
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

    def ask_places(self, together: Together, fresh: Sequence[Submission]) -> Callable[[], dict[str, int]]:
        """The place of each in its queue, 1 for what is next. To be asked before they are stored, in this order."""
        turns: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
        for one in fresh:
            turns[one.queue, one.priority].add(one.turn)
        asked = {
            (queue, priority): together.ask(
                _AHEAD, {"queue": queue, "priority": priority, "first": min(wanted), "last": max(wanted)}
            )
            for (queue, priority), wanted in turns.items()
        }
        return lambda: self._places(fresh, asked)

    def _places(self, fresh: Sequence[Submission], asked: Mapping[tuple[str, int], Rows]) -> dict[str, int]:
        ahead = {way: _ahead(rows()) for way, rows in asked.items()}
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
            places[one.id] = more_urgent + ahead[one.queue, one.priority](one.turn) + ranks[one.queue]
        return places


def _ahead(rows: Iterable[tuple[int, int]]) -> Callable[[int], int]:
    """How many have a turn up to the one it is called with. rows: turns and how many have them."""
    known = sorted((turn, count) for turn, count in rows)
    turns = [turn for turn, _ in known]
    sums = list(itertools.accumulate((count for _, count in known), initial=0))
    return lambda turn: sums[bisect.bisect_right(turns, turn)]
