"""Many submissions in one transaction: each is answered after its commit, and none spoils it for the others."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import httpx
from sqlalchemy import func, select, text
from sqlalchemy.exc import IntegrityError

from judge.api.errors import Refusal
from judge.api.intake import Intake, Member, Taken
from judge.dispatch.serving import prepare
from judge.store import accounts, submissions
from judge.store.database import Database
from judge.store.desk import QueueFull, Room
from judge.store.models import Event, Source, Submission
from judge.store.submissions import KeyReused
from tests.service.running import body, start_api, until
from tests.service.test_store import ROOM, new, user

__all__ = ["user"]


def on_cpu(served):
    return "cpu"


def nowhere(served):
    raise Refusal("no_such_device", "none")


def together(database, members, room=ROOM, stored=None):
    async def run():
        loop = asyncio.get_running_loop()
        waiting = [Member(one, choose, key, loop.create_future()) for one, choose, key in members]
        return await asyncio.to_thread(Intake(database, room, stored).store_together, waiting)

    return asyncio.run(run())


def known(database):
    with database.read() as session:
        return set(session.scalars(select(Submission.id)))


def test_nobody_is_answered_before_the_commit(database, url, user):
    other = Database(url)

    async def run():
        intake = Intake(database, ROOM)
        with other.write() as session:
            # The first statement of one that writes locks all of SQLite.
            session.execute(text("SELECT 1" if other.sqlite else "LOCK TABLE submissions IN EXCLUSIVE MODE"))
            asked = [asyncio.create_task(intake.store(new(user, source=b"%d" % n), on_cpu)) for n in range(20)]
            done, _ = await asyncio.wait(asked, timeout=0.3)
            assert not done
        for one in asyncio.as_completed(asked):
            taken = await one
            # Another connection sees it the moment it is answered.
            assert taken.created.submission.id in known(other)

    asyncio.run(run())
    assert len(known(other)) == 20
    other.close()


def test_what_was_answered_survives_a_kill(url, tmp_path):
    prepared = Database(url)
    prepare(prepared)
    prepared.close()
    running = start_api(url, tmp_path)
    answered = []

    def post(number):
        with httpx.Client(base_url=f"http://127.0.0.1:{running.port}", timeout=20) as client:
            while True:
                try:
                    answer = client.post("/api/v1/submissions", json=body(f"// {number}"))
                except httpx.TransportError:
                    return
                assert answer.status_code == 202
                answered.append(answer.json()["id"])

    with ThreadPoolExecutor(8) as pool:
        for number in range(8):
            pool.submit(post, number)
        until(lambda: len(answered) > 24)
        running.process.kill()
    running.stop()
    database = Database(url)
    stored = known(database)
    database.close()
    assert set(answered) <= stored
    # What was stored and never answered is at most what each of them had sent when it ended.
    assert len(stored) - len(answered) <= 8


def test_one_who_cannot_be_stored_does_no_harm_to_the_others(database, user):
    with database.write() as session:
        other = accounts.user_named(session, "bob")
        submissions.create(session, new(user), ROOM, ("used", "a body"))
    members = [
        (new(user, source=b"first"), on_cpu, None),
        (new("nobody", source=b"lost"), on_cpu, None),
        (new(user, source=b"refused"), nowhere, None),
        (new(user), on_cpu, ("used", "another body")),
        (new(other, source=b"second"), on_cpu, ("fresh", "a body")),
        (new(user), on_cpu, ("used", "a body")),
    ]
    outcomes = together(database, members)
    kinds = [type(outcome) for outcome in outcomes]
    assert kinds == [Taken, IntegrityError, Refusal, KeyReused, Taken, Taken]
    first, second, again = outcomes[0].created, outcomes[4].created, outcomes[5].created
    assert (first.fresh, second.fresh, again.fresh) == (True, True, False)
    assert known(database) == {first.submission.id, second.submission.id, again.submission.id}
    with database.read() as session:
        assert b"lost" not in session.scalars(select(Source.data)).all()
        assert session.scalar(select(func.count()).select_from(Event)) == 3


def test_a_fault_in_what_belongs_to_the_transaction_is_told_to_that_one(database, user):
    def stored(session, fresh):
        session.execute(text("SELECT 1"))
        if any(one.name == "bad" for one in fresh):
            raise ArithmeticError

    good, bad = new(user), submissions.NewSubmission(**{**vars(new(user)), "name": "bad"})
    outcomes = together(database, [(good, on_cpu, None), (bad, on_cpu, None), (good, on_cpu, None)], stored=stored)
    assert [type(outcome) for outcome in outcomes] == [Taken, ArithmeticError, Taken]
    assert len(known(database)) == 2


def test_room_turns_and_places_are_those_of_one_after_another(database, user):
    with database.write() as session:
        other = accounts.user_named(session, "bob")
    for owner, cases in ((user, "all"), (other, "all"), (user, "sample")):
        with database.write() as session:
            submissions.create(session, new(owner, cases=cases), ROOM)
    wanted = [(user, "all"), (other, "all"), (user, "sample"), (user, "all"), (other, "sample")]
    outcomes = together(database, [(new(owner, cases=cases), on_cpu, None) for owner, cases in wanted], Room(8, 4))
    assert [type(outcome) for outcome in outcomes] == [Taken, Taken, Taken, QueueFull, Taken]
    assert outcomes[3].own
    taken = [outcome.created for outcome in outcomes if isinstance(outcome, Taken)]
    with database.read() as session:
        for made in taken:
            found, _ = submissions.find(session, made.submission.id)
            assert made.place == submissions.position(session, found)
            assert (made.submission.number, made.submission.turn) == (found.number, found.turn)
            assert [one.kind for one in submissions.events_after(session, found.id, 0)] == ["queued"]
    full = together(database, [(new(other), on_cpu, None), (new(other), on_cpu, None)], Room(8, 100))
    assert [type(outcome) for outcome in full] == [Taken, QueueFull]
    assert not full[1].own


def test_the_same_key_twice_at_once_is_one_submission(database, user):
    async def run():
        intake = Intake(database, ROOM)
        return await asyncio.gather(*(intake.store(new(user), on_cpu, ("k", "body")) for _ in range(12)))

    taken = asyncio.run(run())
    assert len({one.created.submission.id for one in taken}) == 1
    assert sum(one.created.fresh for one in taken) == 1
    assert len(known(database)) == 1
