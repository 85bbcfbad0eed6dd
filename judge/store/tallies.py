"""Counts that outlive every process: added in the transaction of what they count."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.orm import Session

from judge.store.models import Tally

BUCKETS_S = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
OVER = "inf"


def bucket(seconds: float) -> str:
    """The label of the smallest bucket that holds a time."""
    return next((f"{limit:g}" for limit in BUCKETS_S if seconds <= limit), OVER)


def count(session: Session, *entries: tuple[str, str, float]) -> None:
    """Add one to each (kind, label), and the figure to its total. None may come twice."""
    maker = sqlite_insert if session.get_bind().dialect.name == "sqlite" else postgresql_insert
    # Always in the same order: two transactions that wait for each other's rows would never end.
    rows = [{"kind": kind, "label": label, "count": 1, "total": figure} for kind, label, figure in sorted(entries)]
    statement = maker(Tally).values(rows)
    more = {"count": Tally.count + statement.excluded.count, "total": Tally.total + statement.excluded.total}
    session.execute(statement.on_conflict_do_update(index_elements=["kind", "label"], set_=more))


def read_tallies(session: Session) -> Sequence[tuple[str, str, int, float]]:
    rows = session.execute(select(Tally.kind, Tally.label, Tally.count, Tally.total))
    return [(kind, label, number, total) for kind, label, number, total in rows]
