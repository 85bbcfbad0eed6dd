"""Several machines on one PostgreSQL, played by several houses on this one, some of which are killed or paused."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import procrastinate
import pytest
from sqlalchemy import text

from judge.dispatch.cluster import Deferrer, Waker, prepare_queue, retry_stalled
from judge.dispatch.lane import LaneSettings
from judge.dispatch.serving import chosen_lanes
from judge.errors import UsageError
from judge.store import accounts, submissions
from judge.store.database import Database
from judge.store.desk import Room
from judge.store.schema import migrate
from tests.service.conftest import KINDS
from tests.service.running import (
    ENDLESS,
    SCRIPT,
    WRONG,
    children,
    python_path,
    start_serve,
    submit,
    until,
    verdict,
)
from tests.service.test_store import new

LANE = "judge.dispatch.lane"
pytestmark = pytest.mark.skipif("postgresql" not in KINDS, reason="there is no PostgreSQL server on this machine")


def start_worker(folder, url, *arguments):
    command = [sys.executable, str(SCRIPT), "worker", "--database", url, "--cpu-lanes", "1", *arguments]
    log = (folder / f"worker-{time.monotonic_ns()}").open("wb")
    with log:
        return subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log, env={**os.environ, "PYTHONPATH": python_path()}
        )


def test_workers_on_other_machines_judge_and_one_that_is_paused_changes_nothing(tmp_path, postgresql):
    url = postgresql.new_database()
    server = start_serve(tmp_path, "--cpu-lanes", "0", "--database", url)
    houses = [start_worker(tmp_path, url, "--queue", "cpu") for _ in range(2)]
    client = server.client
    try:
        until(lambda: len(client.get("/api/v1/devices").json()) == 2, 60)
        ids = [submit(client, seed=n) for n in range(2)]
        wrong = submit(client, WRONG)
        assert [verdict(client, one) for one in ids] == ["accepted"] * 2
        assert verdict(client, wrong) == "wrong_answer"
        held = submit(client, ENDLESS, cases="all")
        until(lambda: client.get(f"/api/v1/submissions/{held}").json()["state"] == "running")
        first = client.get(f"/api/v1/submissions/{held}/attempts").json()[0]["worker"]
        [paused] = [house for house in houses if first.startswith(f"{os.uname().nodename}.{house.pid}/")]
        [lane] = children(paused.pid, LANE)
        os.kill(lane, signal.SIGSTOP)
        try:
            # Others find that its beat stands still, and one of them takes over.
            until(lambda: client.get(f"/api/v1/submissions/{held}").json()["attempt"] == 2, 60, 0.2)
            assert client.post(f"/api/v1/submissions/{held}/cancel").json()["state"] == "cancelled"
        finally:
            with suppress(ProcessLookupError):
                os.kill(lane, signal.SIGCONT)
        assert verdict(client, submit(client, seed=9)) == "accepted"
        time.sleep(1)
        told = client.get(f"/api/v1/submissions/{held}").json()
        attempts = client.get(f"/api/v1/submissions/{held}/attempts").json()
        assert (told["state"], [one["state"] for one in attempts]) == ("cancelled", ["lost", "cancelled"])
        assert attempts[0]["worker"] != attempts[1]["worker"]
        listed = subprocess.run(
            [sys.executable, str(SCRIPT), "workers", "--database", url, "--format", "json"],
            capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        assert {one["state"] for one in json.loads(listed.stdout)} == {"ready"}
        houses[0].send_signal(signal.SIGTERM)
        assert houses[0].wait(15) == 0
        gone = [one for one in client.get("/api/v1/devices").json() if one["state"] == "gone"]
        assert len(gone) == 1
        assert verdict(client, submit(client, seed=10)) == "accepted"
    finally:
        for house in houses:
            house.kill()
            house.wait()
        server.stop()


def test_a_job_is_stored_with_its_submission_or_not_at_all(postgresql):
    database = Database(postgresql.new_database())
    migrate(database)
    prepare_queue(database)
    prepare_queue(database)
    deferrer = Deferrer(database)

    def jobs():
        with database.read() as session:
            return session.execute(
                text("SELECT queue_name, priority, args->>'submission' FROM procrastinate_jobs")
            ).all()

    with database.write() as session:
        user = accounts.user_named(session, "ada")
        made, _ = submissions.create(session, new(user, cases="sample"), Room(), None, deferrer)
        kept = made.id
    with suppress(ZeroDivisionError), database.write() as session:
        submissions.create(session, new(user), Room(), None, deferrer)
        raise ZeroDivisionError
    assert [tuple(job) for job in jobs()] == [("cpu", 0, kept)]
    waker = Waker(database, "w", ["cpu"])
    nudge = waker.wait(20)
    assert nudge is not None
    # One that judges gets no further job before it is done.
    with database.write() as session:
        submissions.create(session, new(user), Room(), None, deferrer)
    assert waker.wait(0.5) is None
    nudge.set()
    second = waker.wait(20)
    assert second is not None
    second.set()
    until(lambda: jobs() == [], 20)


def test_a_worker_serves_only_the_queues_it_is_told():
    lanes = [
        LaneSettings("u", "h/cuda0", "cuda", ("cuda", "cuda:h200")),
        LaneSettings("u", "h/cpu0", "cpu", ("cpu",)),
    ]
    assert chosen_lanes(lanes, []) == lanes
    [gpu] = chosen_lanes(lanes, ["cuda:h200"])
    assert (gpu.worker, gpu.queues) == ("h/cuda0", ("cuda:h200",))
    with pytest.raises(UsageError, match="cpu, cuda, cuda:h200"):
        chosen_lanes(lanes, ["cuda:b200"])


def test_the_job_of_a_worker_that_is_gone_is_put_back(postgresql):
    database = Database(postgresql.new_database())
    migrate(database)
    prepare_queue(database)
    with database.write() as session:
        user = accounts.user_named(session, "ada")
        made, _ = submissions.create(session, new(user), Room(), None, Deferrer(database))

    async def take_and_vanish():
        conninfo = database.url.set(drivername="postgresql").render_as_string(hide_password=False)
        app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=conninfo, min_size=1, max_size=1))
        async with app.open_async():
            gone = await app.job_manager.register_worker()
            return await app.job_manager.fetch_job(queues=["cpu"], worker_id=gone)

    def jobs():
        with database.read() as session:
            return session.scalars(text("SELECT status::text FROM procrastinate_jobs")).all()

    job = asyncio.run(take_and_vanish())
    assert job.task_kwargs == {"submission": made.id}
    # Its worker was heard of a moment ago: it may still be at work.
    assert (retry_stalled(database), jobs()) == (0, ["doing"])
    with database.write() as session:
        session.execute(text("UPDATE procrastinate_workers SET last_heartbeat = now() - interval '31 seconds'"))
    assert (retry_stalled(database), jobs()) == (1, ["todo"])
    nudge = Waker(database, "w", ["cpu"]).wait(20)
    assert nudge is not None
    nudge.set()
    until(lambda: jobs() == [], 20)
