"""A device that fails: it takes no work, says why, its work goes elsewhere, and it comes back by itself."""

import time
from typing import ClassVar

import pytest

from judge.backends.base import DeviceProperties
from judge.dispatch import lane as lanes
from judge.dispatch.lane import LaneProcess, LaneSettings
from judge.errors import MachineError
from judge.store import devices, queue
from judge.store.queue import Lease
from judge.verdict import Verdict
from judge.worker import pool
from tests.service.running import until
from tests.service.test_store import add, finish, report, state, user

__all__ = ["user"]

HEALTH = "the health kernel gave 3.0 in place of 6.0"


class StandIn:
    """A worker on a GPU that fails its health kernel while its ordinal is in `broken`."""

    broken: ClassVar[set[int]] = set()
    isolation = "isolated"
    isolation_reasons = ()

    def __init__(self, kind, *, ordinal=0):
        self.kind, self.ordinal = kind, ordinal
        self.alive = True

    def ready(self):
        if self.kind == "cuda" and self.ordinal in self.broken:
            raise MachineError(HEALTH)
        return DeviceProperties(kind=self.kind, name="NVIDIA H200", arch="sm_90")

    def responds(self):
        return self.alive

    def cancel(self):
        self.alive = False

    def close(self):
        self.alive = False


@pytest.fixture
def lane(database, url, monkeypatch):
    """Makes lanes of stand-ins; each judges by storing a report at once."""
    monkeypatch.setattr(lanes, "Worker", StandIn)
    monkeypatch.setattr(lanes, "COLD_LIMIT_S", 0.2)
    monkeypatch.setattr(lanes, "SEEN_S", 0.05)
    monkeypatch.setattr(pool, "RETRY_S", 0.01)
    monkeypatch.setattr(pool, "MAX_RETRY_S", 0.02)
    monkeypatch.setattr(StandIn, "broken", set())
    made = []

    def make(ordinal):
        one = LaneProcess(LaneSettings(url, f"h/cuda{ordinal}", "cuda", ("cuda", "cuda:h200"), ordinal))
        one.judged = []

        def run(claimed):
            one.judged.append(claimed.lease)
            finish(database, claimed.lease, report())
            return Verdict.ACCEPTED

        one.runner.run = run
        made.append(one)
        return one

    yield make
    for one in made:
        for each in one.pools.values():
            each.close()
        one.boxes.close()
        one.database.close()


def told(database):
    with database.read() as session:
        return {one.worker: (one.state, one.reason) for one in devices.devices(session)}


def after_a_round(one, condition):
    """Let the lane look for work until the condition holds."""

    def looked():
        one._round()
        return condition()

    until(looked, 20)


def test_a_gpu_that_fails_its_health_kernel_is_quarantined_and_its_work_goes_elsewhere(database, user, lane):
    StandIn.broken = {0}
    broken, sound = lane(0), lane(1)
    waiting = add(database, user, lane="cuda")
    after_a_round(broken, lambda: HEALTH in told(database).get("h/cuda0", ("", ""))[1])
    assert told(database)["h/cuda0"][0] == "quarantined"
    with database.read() as session:
        assert devices.served_queues(session) == set()
    assert state(database, waiting)[0] == "queued"
    after_a_round(sound, lambda: state(database, waiting)[0] == "done")
    assert (broken.judged, sound.judged) == ([], [Lease(waiting, 1)])
    StandIn.broken = set()
    after_a_round(broken, lambda: told(database)["h/cuda0"] == ("ready", ""))
    again = add(database, user, lane="cuda")
    after_a_round(broken, lambda: broken.judged == [Lease(again, 1)])


def test_a_device_that_starts_is_shown_and_its_queues_take_submissions(database, user, lane):
    StandIn.broken = {0}
    one = lane(0)
    one.announce_start()
    assert told(database)["h/cuda0"][0] == "starting"
    with database.read() as session:
        assert devices.served_queues(session) == {"cuda", "cuda:h200"}
    waiting = add(database, user, lane="cuda")
    after_a_round(one, lambda: told(database)["h/cuda0"][0] == "quarantined")
    with database.read() as session:
        assert devices.served_queues(session) == set()
    StandIn.broken = set()
    after_a_round(one, lambda: state(database, waiting)[0] == "done")
    one.announce_start()
    with database.read() as session:
        [shown] = devices.devices(session)
    # What it is was told by its last worker, and stays.
    assert (shown.state, shown.name, shown.arch) == ("starting", "NVIDIA H200", "sm_90")


def test_a_gpu_that_breaks_while_it_serves_stops_taking_work(database, user, lane):
    one = lane(0)
    first = add(database, user, lane="cuda")
    after_a_round(one, lambda: state(database, first)[0] == "done")
    # The workers that stand ready die with their GPU, and none follows.
    pool_of_gpu = one.pools["cuda"]
    until(lambda: pool_of_gpu.warm == pool_of_gpu.size, 20)
    StandIn.broken = {0}
    for _ in range(pool_of_gpu.size):
        pool_of_gpu.take().close()
    waiting = add(database, user, lane="cuda")
    after_a_round(one, lambda: HEALTH in told(database)["h/cuda0"][1])
    assert told(database)["h/cuda0"][0] == "quarantined"
    assert state(database, waiting)[:2] == ("queued", 0)
    StandIn.broken = set()
    after_a_round(one, lambda: state(database, waiting)[0] == "done")


def test_judge_errors_in_a_row_are_held_against_the_device(database, user, lane, monkeypatch):
    one = lane(0)
    until(lambda: one.pools["cuda"].warm == one.pools["cuda"].size, 20)

    def fault(claimed):
        one.judged.append(claimed.lease)
        with database.write() as session:
            queue.fail(session, claimed.lease, "the GPU fell off the bus", None)
        return Verdict.JUDGE_ERROR

    one.runner.run = fault
    ids = [add(database, user, lane="cuda") for _ in range(3)]
    monkeypatch.setattr(lanes, "QUARANTINE_S", 0.3)
    after_a_round(one, lambda: len(one.judged) >= lanes.FAULTS_IN_A_ROW)
    assert len(one.judged) == lanes.FAULTS_IN_A_ROW
    assert told(database)["h/cuda0"][0] == "quarantined"
    began = time.monotonic()
    after_a_round(one, lambda: len(one.judged) > lanes.FAULTS_IN_A_ROW)
    assert time.monotonic() - began > 0.1
    # Three faults each and no more, wherever they come from.
    assert [state(database, each)[2] for each in ids].count("judge_error") >= 1
