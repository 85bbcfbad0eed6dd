"""Procrastinate on the service's own PostgreSQL: it wakes a lane the moment something waits, on whatever machine.

A job is deferred in the transaction that stores the submission, so there is one exactly when there is the other. It
says only that something waits in a queue; which submission a lane takes is the store's to decide, by its fair order,
and who may write is decided by the attempt (judge.store.queue). So a job that is lost, late or delivered twice does
no harm: lanes look by themselves too, a little later.
"""

import asyncio
import itertools
import logging
import queue
import threading
from collections.abc import Sequence

import procrastinate
import psycopg
import structlog
from procrastinate.exceptions import ConnectorException
from procrastinate.types import JSONValue
from sqlalchemy import text
from sqlalchemy.orm import Session

from judge.store.database import Database
from judge.store.models import Submission

TASK = "judge.wake"
IDLE_POLL_S = 1.0
RETRY_S = 1.0
STALLED_S = 30.0
_LOCK = 0x6B6A5F70

_log = structlog.get_logger()


def _conninfo(database: Database) -> str:
    return database.url.set(drivername="postgresql").render_as_string(hide_password=False)


def _application(connector: procrastinate.BaseConnector) -> procrastinate.App:
    logging.getLogger("procrastinate").setLevel(logging.ERROR)
    return procrastinate.App(connector=connector)


def prepare_queue(database: Database) -> None:
    """Make Procrastinate's tables where there are none; two at once wait for each other."""
    with database.write() as session:
        session.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        if session.scalar(text("SELECT to_regclass('procrastinate_jobs')")) is None:
            connection = session.connection().connection.driver_connection
            assert isinstance(connection, psycopg.Connection)
            connection.execute(procrastinate.schema.SchemaManager.get_schema())


class Deferrer:
    """Puts a job into the transaction of a submission that begins to wait."""

    def __init__(self, database: Database) -> None:
        # Never opened: every job goes through the connection of its transaction.
        self._app = _application(procrastinate.SyncPsycopgConnector(conninfo=_conninfo(database)))

    def __call__(self, session: Session, submissions: Sequence[Submission]) -> None:
        session.flush()
        connection = session.connection().connection.driver_connection
        ways = sorted(submissions, key=_way)
        for (name, priority), members in itertools.groupby(ways, key=_way):
            task = self._app.configure_task(TASK, queue=name, priority=-priority, connection=connection)
            jobs: list[dict[str, JSONValue]] = [{"submission": one.id} for one in members]
            task.batch_defer(*jobs)


def _way(submission: Submission) -> tuple[str, int]:
    return submission.queue, submission.priority


class Waker:
    """Listens for jobs in a thread, one at a time; each is a nudge that the lane answers when it has judged.

    While a lane judges it takes no further job, so that an idle one gets it.
    """

    def __init__(self, database: Database, worker: str, queues: Sequence[str]) -> None:
        self._conninfo = _conninfo(database)
        self._worker = worker
        self._queues = list(queues)
        self.nudges: queue.Queue[threading.Event] = queue.Queue()
        threading.Thread(target=self._listen, name="judge-waker", daemon=True).start()

    def wait(self, limit_s: float) -> threading.Event | None:
        """A nudge, to be set once it was followed; None when none came in time."""
        try:
            return self.nudges.get(timeout=limit_s)
        except queue.Empty:
            return None

    def _listen(self) -> None:
        while True:
            try:
                asyncio.run(self._work())
            except (ConnectorException, psycopg.Error, OSError) as error:
                _log.warning("the queue is away", worker=self._worker, reason=type(error).__name__)
            threading.Event().wait(RETRY_S)

    async def _work(self) -> None:
        app = _application(procrastinate.PsycopgConnector(conninfo=self._conninfo, min_size=1, max_size=3))

        @app.task(name=TASK)
        async def wake(submission: str) -> None:
            followed = threading.Event()
            self.nudges.put(followed)
            await asyncio.to_thread(followed.wait)

        async with app.open_async():
            await app.run_worker_async(
                queues=self._queues,
                name=self._worker,
                concurrency=1,
                install_signal_handlers=False,
                delete_jobs="always",
                fetch_job_polling_interval=IDLE_POLL_S,
                stalled_worker_timeout=STALLED_S,
            )


def retry_stalled(database: Database) -> int:
    """Put jobs back whose worker is gone; gives how many. Raises ConnectorException when the database is away."""
    return asyncio.run(_retry_stalled(_conninfo(database)))


async def _retry_stalled(conninfo: str) -> int:
    from datetime import UTC, datetime

    app = _application(procrastinate.PsycopgConnector(conninfo=conninfo, min_size=1, max_size=1))
    async with app.open_async():
        jobs = list(await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_S))
        for job in jobs:
            await app.job_manager.retry_job(job, retry_at=datetime.now(UTC))
    return len(jobs)
