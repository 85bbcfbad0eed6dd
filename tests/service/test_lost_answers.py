"""The database goes away around a claim: what was taken is judged, by whoever, without waiting for a lease to end."""

import math
import time
from contextlib import contextmanager

import pytest

from judge.dispatch import lane as lanes
from judge.store import submissions
from judge.store.database import StoreUnavailable
from judge.store.leases import LEASE_S, LeaseWatch
from judge.store.queue import claim
from tests.service.test_quarantine import after_a_round, lane
from tests.service.test_store import add, state, user

__all__ = ["lane", "user"]


def attempts(database, submission):
    with database.read() as session:
        return [one.state for one in submissions.attempts_of(session, submission)]


def fail_once(one, monkeypatch, name, at):
    """Let the lane's database go away in one of its next transactions, after it did what it was asked."""
    real = getattr(one.database, name)
    calls = []

    @contextmanager
    def failing():
        calls.append(name)
        with real() as session:
            yield session
        if len(calls) == at:
            raise StoreUnavailable("the server closed the connection unexpectedly")

    monkeypatch.setattr(one.database, name, failing)
    monkeypatch.setattr(lanes, "AWAY_S", 0.01)


@pytest.mark.parametrize("call", range(1, 5))
@pytest.mark.parametrize("name", ["read", "write"])
def test_a_database_that_goes_away_at_any_step_loses_no_attempt(database, user, lane, monkeypatch, name, call):
    one = lane(0)
    after_a_round(one, one.health.ready)
    submission = add(database, user, lane="cuda")
    fail_once(one, monkeypatch, name, call)
    after_a_round(one, lambda: state(database, submission)[0] == "done")
    assert attempts(database, submission) in (["done"], ["returned", "done"])
    assert len(one.judged) == 1


def test_a_claim_whose_answer_got_lost_is_given_back_and_taken_again(database, user, lane, monkeypatch):
    one = lane(0)
    after_a_round(one, lambda: one.health.ready() and not one._work_waits())
    submission = add(database, user, lane="cuda")
    monkeypatch.setattr(one, "tick", lambda: None)
    fail_once(one, monkeypatch, "write", 1)
    one._round()
    assert (state(database, submission)[0], one.judged) == ("running", [])
    one._round()
    assert attempts(database, submission) == ["returned", "done"]


def test_a_claim_is_judged_though_the_next_look_at_the_queue_fails(database, user, lane, monkeypatch):
    one = lane(0)
    after_a_round(one, lambda: one.health.ready() and not one._work_waits())
    submission = add(database, user, lane="cuda")
    monkeypatch.setattr(one, "tick", lambda: None)
    fail_once(one, monkeypatch, "read", 2)
    one._round()
    assert attempts(database, submission) == ["done"]


def test_attempts_of_other_lanes_are_left_alone(database, user, lane, monkeypatch):
    one, other = lane(0), lane(1)
    held, own = add(database, user, lane="cuda"), add(database, user, lane="cuda", source=b"another")
    assert other._claim().lease.submission_id == held
    after_a_round(one, one.health.ready)
    monkeypatch.setattr(one, "tick", lambda: None)
    after_a_round(one, lambda: state(database, own)[0] == "done")
    one._claims_may_come_until = math.inf
    one._round()
    assert attempts(database, held) == ["running"]


def away(one, monkeypatch):
    """The lane's database goes away before its next claim is stored."""
    monkeypatch.setattr(lanes, "AWAY_S", 0.01)

    def gone(*_):
        monkeypatch.undo()
        raise StoreUnavailable("the server closed the connection unexpectedly")

    monkeypatch.setattr(lanes, "claim_next", gone)


def stored_late(one, database, submission):
    """The server carries the claim out after all, when the lane has already looked for it."""
    with database.write() as session:
        return claim(session, submission, one.settings.worker).lease


def test_a_claim_that_is_stored_after_the_lane_looked_for_it_is_given_back(database, user, lane, monkeypatch):
    one = lane(0)
    after_a_round(one, lambda: one.health.ready() and not one._work_waits())
    submission = add(database, user, lane="cuda")
    away(one, monkeypatch)
    one._round()
    one._return_unknown_claims()
    stored_late(one, database, submission)
    one._round()
    assert attempts(database, submission) == ["returned", "done"]


def test_a_lane_that_is_told_to_end_gives_back_what_it_may_have_claimed(database, user, lane, monkeypatch):
    one = lane(0)
    after_a_round(one, lambda: one.health.ready() and not one._work_waits())
    submission = add(database, user, lane="cuda")
    away(one, monkeypatch)
    one._round()
    stored_late(one, database, submission)
    one.stop.set()
    monkeypatch.setattr(lanes.signal, "signal", lambda *_: None)
    one.run()
    assert attempts(database, submission) == ["returned"]
    assert state(database, submission)[0] == "queued"


def test_a_lane_looks_for_claims_no_longer_than_leases_last(database, user, lane, monkeypatch):
    one = lane(0)
    away(one, monkeypatch)
    with pytest.raises(StoreUnavailable):
        one._claim()
    monkeypatch.setattr(one.database, "read", lambda: pytest.fail("nothing to look for"))
    now = time.monotonic()
    monkeypatch.setattr(lanes.time, "monotonic", lambda: now + LEASE_S)
    one._return_unknown_claims()


def test_a_dead_lane_loses_nothing_that_its_successor_took(database, user):
    one, two = add(database, user), add(database, user, source=b"another")
    with database.write() as session:
        before = claim(session, one, "box/1").lease
    died_at = time.time()
    with database.write() as session:
        claim(session, two, "box/1")
    assert LeaseWatch(database).take_from("box/1", died_at) == [before]
    assert attempts(database, two) == ["running"]
