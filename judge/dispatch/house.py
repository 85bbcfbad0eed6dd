"""What `judge serve` and `judge worker` run: child processes kept alive, lost attempts found, all ended in order.

    house ── api             HTTP; holds nothing that is not in the store
          ├─ lane cpu0 ...   one for each pair of cores
          └─ lane cuda0 ...  one for each GPU

The house itself judges nothing and answers nothing, so that little can end it. It holds the listening socket: while
the API starts again, callers wait instead of being refused.
"""

import fcntl
import os
import signal
import socket
import threading
import time
from collections.abc import Sequence
from typing import IO

import structlog

from judge.dispatch.children import Child
from judge.dispatch.lane import SETTINGS_VARIABLE, LaneSettings
from judge.errors import UsageError
from judge.store.database import Database, StoreUnavailable
from judge.store.devices import forget_gone
from judge.store.leases import LOOK_S, LeaseWatch
from judge.store.submissions import forget_old_keys

WATCH_S = 0.1
STOP_LIMIT_S = 1.6
TIDY_S = 600.0
JOBS_S = 30.0

_log = structlog.get_logger()


class House:
    """children: what to keep alive. alone: whether no other judge uses the database, which then must be SQLite's."""

    def __init__(self, database: Database, children: Sequence[Child], *, alone: bool) -> None:
        self._database = database
        self._children = children
        self._alone = alone
        self._watch = LeaseWatch(database)
        self._stop = threading.Event()
        self._dead: list[tuple[str, float]] = []
        self._looked_at = 0.0
        self._tidied_at = 0.0
        self._jobs_at = time.monotonic()

    def run(self) -> None:
        """Until SIGTERM or SIGINT; then all children are told to end, and killed after STOP_LIMIT_S."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop.set())
        if self._alone:
            for lease in self._watch.take_from(None):
                _log.warning("attempt lost with an earlier service", submission=lease.submission_id)
        try:
            while not self._stop.wait(WATCH_S):
                for child in self._children:
                    if child.watch():
                        _log.error("a part of the service died; it starts again", part=child.name)
                        self._dead.append((child.name, time.time()))
                self._look_after_leases()
        finally:
            deadline = time.monotonic() + STOP_LIMIT_S
            for child in self._children:
                child.terminate()
            for child in self._children:
                child.finish(deadline)

    def _retry_jobs(self) -> None:
        from procrastinate.exceptions import ConnectorException

        from judge.dispatch.cluster import retry_stalled

        try:
            count = retry_stalled(self._database)
        except ConnectorException as error:
            _log.warning("the queue is away", reason=type(error).__name__)
            return
        if count:
            _log.warning("jobs of workers that are gone were put back", count=count)

    def _look_after_leases(self) -> None:
        now = time.monotonic()
        if not self._dead and now - self._looked_at < LOOK_S:
            return
        try:
            while self._dead:
                for lease in self._watch.take_from(*self._dead[0]):
                    _log.warning("attempt lost with its worker", submission=lease.submission_id, attempt=lease.attempt)
                self._dead.pop(0)
            if now - self._looked_at >= LOOK_S:
                self._looked_at = now
                for lease in self._watch.look():
                    _log.warning("attempt lost", submission=lease.submission_id, attempt=lease.attempt)
            if now - self._tidied_at >= TIDY_S:
                self._tidied_at = now
                with self._database.write() as session:
                    forget_old_keys(session)
                    forget_gone(session)
            if not self._database.sqlite and now - self._jobs_at >= JOBS_S:
                self._jobs_at = now
                self._retry_jobs()
        except StoreUnavailable as error:
            self._looked_at = now
            _log.warning("the store is away", reason=str(error))


def lane_child(settings: LaneSettings) -> Child:
    """The child process of a lane; its name is that of the worker, as the store knows it."""
    bells = tuple(descriptor for descriptor in (settings.waiting_bell, settings.changed_bell) if descriptor >= 0)
    return Child(settings.worker, "judge.dispatch.lane", {SETTINGS_VARIABLE: settings.as_json()}, bells)


def lanes_of_machine(
    database: str, cpu_lanes: int | None = None, *, warm: int = 1, host: str = ""
) -> list[LaneSettings]:
    """Lanes for every GPU and for the CPU of this machine, one CPU lane for two cores where no number is given.

    host: begins the names of the lanes, which no two houses of a database may share.
    """
    host = host or socket.gethostname()
    lanes = []
    for ordinal, name in enumerate(gpu_names()):
        queues = ("cuda", f"cuda:{name}")
        lanes.append(LaneSettings(database, f"{host}/cuda{ordinal}", "cuda", queues, ordinal, warm))
    count = max(1, (os.cpu_count() or 1) // 2) if cpu_lanes is None else cpu_lanes
    lanes += [LaneSettings(database, f"{host}/cpu{number}", "cpu", ("cpu",), 0, warm) for number in range(count)]
    return lanes


def gpu_names() -> list[str]:
    """Short names, such as h200, of the GPUs that this process may use, by ordinal; none where there is no driver.

    CUDA_VISIBLE_DEVICES counts as CUDA reads it: numbers or the beginnings of UUIDs, up to the first that names none.
    """
    try:
        import pynvml

        pynvml.nvmlInit()
    except (ImportError, OSError):
        return []
    except pynvml.NVMLError:
        return []
    try:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        known = [(str(pynvml.nvmlDeviceGetUUID(handle)), str(pynvml.nvmlDeviceGetName(handle))) for handle in handles]
    except pynvml.NVMLError:
        return []
    finally:
        pynvml.nvmlShutdown()
    return [short_name(name) for name in visible_gpus(known, os.environ.get("CUDA_VISIBLE_DEVICES"))]


def visible_gpus(known: Sequence[tuple[str, str]], visible: str | None) -> list[str]:
    """Names of the GPUs, given as (UUID, name) by index, that CUDA_VISIBLE_DEVICES leaves, in its order."""
    if visible is None:
        return [name for _, name in known]
    found = []
    for wanted in map(str.strip, visible.split(",")):
        if wanted.isdigit():
            named = [name for _, name in known[int(wanted) : int(wanted) + 1]]
        else:
            named = [name for uuid, name in known if wanted and uuid.startswith(wanted)]
        if len(named) != 1:
            break
        found += named
    return found


def short_name(name: str) -> str:
    """ "NVIDIA H200" is h200, "NVIDIA GeForce RTX 4090" is rtx-4090."""
    words = [word for word in name.lower().split() if word not in {"nvidia", "geforce", "tesla", "quadro"}]
    kept = "-".join(words[:2]) if words[:1] == ["rtx"] else "-".join(words[:1])
    return "".join(c for c in kept if c.isalnum() or c == "-") or "gpu"


def only_one(database: Database) -> IO[bytes] | None:
    """Hold the lock beside a SQLite file for as long as the result is open; None on PostgreSQL.

    Raises UsageError when another service holds it, and for a file that has other names by hard links: SQLite keeps
    what is not yet in the file beside each name, so a second one reads half of it and ruins the rest.
    """
    if database.file is None:
        return None
    path = database.file.with_name(f"{database.file.name}.lock")
    try:
        lock = path.open("wb")
    except OSError as error:
        raise UsageError(f"{path} cannot be made: {error.strerror}. Name a database in a folder that exists.") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise UsageError(
            f"Another judge already serves from {database.file}. Stop it, or name another --database."
        ) from None
    names = database.file.stat().st_nlink if database.file.exists() else 1
    if names > 1:
        lock.close()
        raise UsageError(
            f"{database.file} has {names} names by hard links, and SQLite is safe with one. Remove the others, "
            "or serve from a copy of it."
        )
    return lock
