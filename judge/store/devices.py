"""The devices that judge, as their own workers describe them."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, literal, select, update
from sqlalchemy.orm import Session

from judge.records import Report
from judge.store.models import Device

SEEN_LIMIT_S = 30.0
"""A device that was not heard of for so long is told as gone."""

FORGET_S = 24 * 3600.0

_rows = Device.__table__.c
SERVING = select(_rows.queues, _rows.seen_at).where(
    _rows.state.in_([literal(state, literal_execute=True) for state in ("ready", "starting")])
)
"""What served_queues() asks, for those who ask other things too."""


@dataclass(frozen=True)
class Lane:
    """What one worker process is: the device it judges on and the queues it serves."""

    worker: str
    queues: tuple[str, ...]
    kind: str
    name: str
    arch: str
    isolation: str


def announce(session: Session, lane: Lane) -> None:
    """Enter a device as ready, in place of an older entry of the same worker."""
    now = time.time()
    known = session.get(Device, lane.worker)
    roofs = known.roofs if known is not None and known.name == lane.name[:128] else {}
    session.merge(
        Device(
            id=lane.worker,
            worker=lane.worker,
            queues=list(lane.queues),
            kind=lane.kind,
            name=lane.name[:128],
            arch=lane.arch[:16],
            isolation=lane.isolation,
            state="ready",
            reason="",
            roofs=roofs,
            beat=0,
            started_at=now,
            seen_at=now,
            judged_at=None,
        )
    )


def announce_start(session: Session, worker: str, queues: tuple[str, ...], kind: str) -> None:
    """Enter a device whose first worker is on its way: its queues take submissions, what it is nobody knows yet."""
    known = session.get(Device, worker)
    if known is None:
        announce(session, Lane(worker, queues, kind, queues[-1], "", "none"))
    else:
        announce(session, Lane(worker, queues, kind, known.name, known.arch, known.isolation))
    seen(session, worker, "starting", "its first worker is on its way")


def note_roofs(session: Session, worker: str, report: Report) -> None:
    """Keep with a GPU the rates that a report of its worker measured beside its times, where there are any."""
    timings = [case.timing for case in report.cases if case.timing is not None]
    rates = next((timing.rates for timing in reversed(timings) if timing.rates is not None), None)
    if rates is not None:
        values = rates.model_dump(mode="json")
        session.execute(update(Device).where(Device.id == worker, Device.kind == "cuda").values(roofs=values))


def seen(session: Session, worker: str, state: str, reason: str = "", *, judged: bool = False) -> None:
    """Say that a device is still there, in a state: starting, ready, quarantined or gone."""
    now = time.time()
    values = {"state": state, "reason": reason[:500], "seen_at": now, **({"judged_at": now} if judged else {})}
    session.execute(update(Device).where(Device.id == worker).values(beat=Device.beat + 1, **values))


def devices(session: Session) -> Sequence[Device]:
    """Every device known, those first that started first; what was not heard of lately is in state gone."""
    found = session.scalars(select(Device).order_by(Device.started_at, Device.id)).all()
    now = time.time()
    for device in found:
        if abs(now - device.seen_at) > SEEN_LIMIT_S:
            session.expunge(device)
            device.state = "gone"
    return found


def served_queues(session: Session) -> set[str]:
    """Queues that a device takes from which is ready or about to be."""
    return queues_of(session.connection().execute(SERVING))


def queues_of(serving: Iterable[Any]) -> set[str]:
    """Queues in the rows of SERVING, without those of devices that were not heard of lately."""
    now = time.time()
    return {name for queues, seen_at in serving if abs(now - seen_at) <= SEEN_LIMIT_S for name in queues}


def forget_gone(session: Session) -> None:
    session.execute(delete(Device).where(Device.seen_at < time.time() - FORGET_S))
