"""The store on both databases: what may become of a submission, and what no writer may do."""

import threading
import time
from dataclasses import replace

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import event, select, text

from judge.dispatch.house import only_one
from judge.errors import MachineError, UsageError
from judge.records import (
    BackendReport,
    CaseReport,
    CompileReport,
    ProblemReference,
    Rates,
    Report,
    SubmissionReport,
    Timing,
)
from judge.reports.json import render_json
from judge.store import accounts, devices, pruning, queue, submissions
from judge.store.database import Database, shown_url
from judge.store.desk import QueueFull, Room
from judge.store.leases import LeaseWatch
from judge.store.models import Attempt, Base, CaseResult, Event, Measurement, RequestKey, Source, Submission
from judge.store.queue import Lease, StaleLease
from judge.store.schema import at_head, migrate
from judge.store.submissions import KeyReused, NewSubmission
from judge.verdict import Verdict
from tests.service.conftest import KINDS

ROOM = Room()


@pytest.fixture
def user(database):
    with database.write() as session:
        return accounts.user_named(session, "ada")


def new(user, source=b"kernel", cases="all", lane="cpu", problem="splitk-merge", visibility="private"):
    return NewSubmission(user, problem, "0123456789ab", source, "a.cu", "cpu", None, cases, visibility, None, lane)


def add(database, user, room=ROOM, key=None, **changes):
    with database.write() as session:
        return submissions.create(session, new(user, **changes), room, key)[0].id


def claim(database, *lanes, worker="w"):
    with database.write() as session:
        return queue.claim_next(session, lanes or ("cpu",), worker)


def state(database, submission_id):
    with database.read() as session:
        found, _ = submissions.find(session, submission_id)
        return found.state, found.attempt, found.verdict


def report(verdict=Verdict.ACCEPTED, timing=None):
    backend = BackendReport(kind="cuda", device="NVIDIA H200", arch="sm_90", isolation="isolated")
    return Report(
        judge_version="1",
        submission=SubmissionReport(name="a.cu", sha256="0" * 64, source_bytes=6),
        problem=ProblemReference(id="splitk-merge", version="0123456789ab"),
        verdict=verdict,
        message="told",
        backend=backend,
        backends=(backend,),
        seed=1,
        compile=CompileReport(ok=True),
        cases=(CaseReport(name="large", group="bench", verdict=verdict, backend="cuda", timing=timing),),
    )


def finish(database, lease, told=None, lines=()):
    told = told or report()
    with database.write() as session:
        queue.finish(session, lease, told, render_json(told), lines)


def events(database, submission_id):
    with database.read() as session:
        return [(e.number, e.kind) for e in submissions.events_after(session, submission_id, 0)]


def test_migrations_make_exactly_the_tables_of_the_models(database):
    migrate(database)
    assert at_head(database)
    with database.engine.connect() as connection:
        found = compare_metadata(MigrationContext.configure(connection), Base.metadata)
    assert found == []


def test_a_database_of_a_newer_judge_is_refused(database):
    with database.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    assert not at_head(database)
    with pytest.raises(MachineError, match="newer"):
        migrate(database)


def test_sqlite_is_durable_and_lets_readers_go_on(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/a.db")
    with database.read() as session:
        values = [session.scalar(text(f"PRAGMA {name}")) for name in ("journal_mode", "synchronous", "foreign_keys")]
    assert values == ["wal", 2, 1]


@pytest.mark.parametrize("url", ["", "nonsense", "mysql://a/b", "sqlite://", "sqlite:///:memory:", "http://x/y"])
def test_a_url_that_is_no_lasting_database_is_refused(url):
    with pytest.raises(UsageError, match="sqlite:///FILE or postgresql"):
        Database(url)


def test_one_file_is_served_once_whatever_it_is_called(tmp_path, monkeypatch):
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "folder").symlink_to(real)
    (tmp_path / "link.db").symlink_to(real / "judge.db")
    monkeypatch.chdir(real)
    with only_one(Database(f"sqlite:///{real}/judge.db")):
        for name in ("judge.db", f"{tmp_path}/folder/judge.db", f"{tmp_path}/link.db", "../real/judge.db"):
            with pytest.raises(UsageError, match="already serves"):
                only_one(Database(f"sqlite:///{name}"))
        with pytest.raises(UsageError, match="already serves"):
            only_one(Database(f"sqlite:///file:{real}/judge.db?uri=true"))
    only_one(Database(f"sqlite:///{tmp_path}/link.db")).close()


def test_a_file_with_two_names_is_not_served(tmp_path):
    first, second = tmp_path / "judge.db", tmp_path / "other.db"
    first.touch()
    only_one(Database(f"sqlite:///{first}")).close()
    second.hardlink_to(first)
    for path in (first, second):
        with pytest.raises(UsageError, match="2 names by hard links"):
            only_one(Database(f"sqlite:///{path}"))
    first.unlink()
    only_one(Database(f"sqlite:///{second}")).close()


def test_a_password_is_never_shown():
    assert "secret" not in shown_url("postgresql://ada:secret@host/db")


def test_a_submission_goes_from_queued_to_done_with_everything_recorded(database, user):
    submission = add(database, user)
    claimed = claim(database)
    assert (claimed.lease, claimed.source, claimed.faults) == (Lease(submission, 1), b"kernel", 0)
    assert state(database, submission) == ("running", 1, None)
    with database.write() as session:
        queue.beat(session, claimed.lease, [("case", {"name": "large"}, 1.0)])
    timing = Timing(median_us=10, p10_us=9, p90_us=11, samples=100, rel_ci95=0.01, cold=True)
    finish(database, claimed.lease, report(timing=timing), [("note", {}, 2.0)])
    assert state(database, submission) == ("done", 1, "accepted")
    assert events(database, submission) == list(enumerate(["queued", "started", "case", "note", "done"], start=1))
    with database.read() as session:
        [case] = session.scalars(select(CaseResult)).all()
        [measured] = session.scalars(select(Measurement)).all()
        found, name = submissions.find(session, submission)
        assert Report.model_validate_json(submissions.report_of(session, found)) == report(timing=timing)
    assert (case.name, case.verdict, name) == ("large", "accepted", "ada")
    assert (measured.device, measured.median_us, measured.accepted) == ("NVIDIA H200", 10, True)


STALE_WRITES = {
    "beat": lambda session, lease: queue.beat(session, lease, [("case", {}, 0.0)]),
    "finish": lambda session, lease: queue.finish(session, lease, report(), "{}"),
    "give_back": lambda session, lease: queue.give_back(session, lease, "drained"),
    "fail": lambda session, lease: queue.fail(session, lease, "broke", "id"),
}

MOVES_ON = {
    "requeued": lambda session, lease: queue.give_back(session, lease, "drained"),
    "lost": lambda session, lease: queue.lose(session, lease, 0, "gone"),
    "cancelled": lambda session, lease: queue.cancel(session, lease.submission_id),
    "done": lambda session, lease: queue.finish(session, lease, report(Verdict.WRONG_ANSWER), "{}"),
}


@pytest.mark.parametrize("moved", MOVES_ON)
@pytest.mark.parametrize("written", STALE_WRITES)
def test_a_stale_worker_changes_nothing(database, user, moved, written):
    submission = add(database, user)
    lease = claim(database).lease
    with database.write() as session:
        MOVES_ON[moved](session, lease)
    before = state(database, submission), events(database, submission)
    with pytest.raises(StaleLease), database.write() as session:
        STALE_WRITES[written](session, lease)
    assert (state(database, submission), events(database, submission)) == before


def test_a_stale_worker_changes_nothing_while_the_next_attempt_runs(database, user):
    submission = add(database, user)
    old = claim(database).lease
    with database.write() as session:
        assert queue.lose(session, old, 0, "gone")
    fresh = claim(database).lease
    assert fresh.attempt == 2
    for write in STALE_WRITES.values():
        with pytest.raises(StaleLease), database.write() as session:
            write(session, old)
    finish(database, fresh, report(Verdict.WRONG_ANSWER))
    assert state(database, submission) == ("done", 2, "wrong_answer")


def test_three_faults_park_a_submission_as_judge_error(database, user):
    submission = add(database, user)
    for attempt in (1, 2, 3):
        lease = claim(database).lease
        assert lease.attempt == attempt
        with database.write() as session:
            assert queue.fail(session, lease, "the worker died", f"incident{attempt}") is (attempt == 3)
    assert state(database, submission) == ("done", 3, "judge_error")
    assert claim(database) is None
    with database.read() as session:
        found, _ = submissions.find(session, submission)
        told = Report.model_validate_json(submissions.report_of(session, found))
        states = session.scalars(select(Attempt.state)).all()
    assert (told.verdict, told.incident, states) == (Verdict.JUDGE_ERROR, "incident3", ["failed"] * 3)
    assert "not the kernel's fault" in told.message


def test_giving_back_is_no_fault(database, user):
    submission = add(database, user)
    for _ in range(5):
        with database.write() as session:
            queue.give_back(session, queue.claim_next(session, ["cpu"], "w").lease, "drained")
    assert state(database, submission) == ("queued", 5, None)


def test_cancel_works_in_every_state_and_only_once(database, user):
    waiting, running = add(database, user), add(database, user)
    with database.write() as session:
        lease = queue.claim(session, running, "w").lease
        assert queue.cancel(session, waiting)
        assert queue.cancel(session, running)
        assert not queue.cancel(session, waiting)
        assert not queue.cancel(session, "0" * 32)
    assert state(database, waiting)[0] == state(database, running)[0] == "cancelled"
    with pytest.raises(StaleLease):
        finish(database, lease)
    assert claim(database) is None


@pytest.mark.skipif("postgresql" not in KINDS, reason="there is no PostgreSQL server on this machine")
def test_a_cancel_knows_what_happened_between_its_first_look_and_its_lock(postgresql, migrated):
    database = Database(postgresql.new_database(migrated))
    with database.write() as session:
        owner = accounts.user_named(session, "ada")
    submission = add(database, owner)
    with database.write() as session:
        known, _ = submissions.find(session, submission)
        assert known.state == "queued"
        lease = claim(database).lease
        with database.write() as other:
            queue.beat(other, lease, [("case", {}, 0.0)])
        assert queue.cancel(session, submission)
    assert state(database, submission)[:2] == ("cancelled", 1)
    with database.read() as session:
        assert [one.state for one in submissions.attempts_of(session, submission)] == ["cancelled"]
    assert [kind for _, kind in events(database, submission)] == ["queued", "started", "case", "cancelled"]
    database.close()


def test_a_rejudge_keeps_the_old_result_until_the_new_one_is_there(database, user):
    submission = add(database, user)
    finish(database, claim(database).lease, report(Verdict.WRONG_ANSWER))
    with database.write() as session:
        assert queue.rejudge(session, submission)
        assert not queue.rejudge(session, submission)
    assert state(database, submission) == ("queued", 1, "wrong_answer")
    finish(database, claim(database).lease)
    assert state(database, submission) == ("done", 2, "accepted")
    with database.read() as session:
        found, _ = submissions.find(session, submission)
        old = Report.model_validate_json(submissions.report_of(session, found, 1))
    assert old.verdict is Verdict.WRONG_ANSWER


def test_every_attempt_has_the_seed_of_the_first_unless_another_is_asked_for(database, user):
    submission = add(database, user)
    lease = claim(database)
    with database.write() as session:
        queue.give_back(session, lease.lease, "its worker was shut down")
    again = claim(database)
    assert again.seed == lease.seed is not None
    finish(database, again.lease)
    seeds = []
    for new_seed in (False, True, False):
        with database.write() as session:
            assert queue.rejudge(session, submission, new_seed=new_seed)
        seeds.append(claim(database))
        finish(database, seeds[-1].lease)
    assert seeds[0].seed == lease.seed
    assert seeds[1].seed == seeds[2].seed != lease.seed


def test_a_submission_of_an_older_judge_keeps_the_seed_of_its_last_report(database, user):
    submission = add(database, user)
    lease = claim(database).lease
    finish(database, lease, report().model_copy(update={"seed": 4711}))
    with database.write() as session:
        submissions.find(session, submission)[0].seed = None
        queue.rejudge(session, submission)
    assert claim(database).seed == 4711


def test_a_cancelled_submission_can_be_judged_again(database, user):
    submission = add(database, user)
    with database.write() as session:
        queue.cancel(session, submission)
        assert queue.rejudge(session, submission)
    finish(database, claim(database).lease)
    assert state(database, submission) == ("done", 1, "accepted")


def test_sample_runs_come_before_full_ones_and_those_before_a_rejudge(database, user):
    old = add(database, user)
    finish(database, claim(database).lease)
    with database.write() as session:
        queue.rejudge(session, old)
    full = add(database, user)
    sample = add(database, user, cases="sample")
    assert [claim(database).lease.submission_id for _ in range(3)] == [sample, full, old]


def test_one_who_floods_does_not_keep_others_waiting(database, user):
    flood = [add(database, user) for _ in range(20)]
    for _ in range(3):
        claim(database)
    with database.write() as session:
        other = accounts.user_named(session, "bob")
    one = add(database, other)
    order = [claim(database).lease.submission_id for _ in range(3)]
    assert one in order
    assert order[0] in flood or order[1] in flood


def test_a_worker_takes_only_from_its_queues_and_the_most_urgent_of_them(database, user):
    gpu = add(database, user, lane="cuda")
    sample = add(database, user, cases="sample")
    assert claim(database, "cuda:h200") is None
    assert claim(database, "cuda", "cpu").lease.submission_id == sample
    assert claim(database, "cuda", "cpu").lease.submission_id == gpu


def test_two_at_once_never_claim_the_same(database, user):
    wanted = {add(database, user) for _ in range(12)}
    taken = []

    def take():
        while (claimed := claim(database)) is not None:
            taken.append(claimed.lease)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # One that was locked by another is passed over, so a taker may leave early; what is left can still be taken.
    take()
    assert len(taken) == 12
    assert {lease.submission_id for lease in taken} == wanted


def test_the_same_key_gives_the_same_submission_and_another_body_is_refused(database, user):
    first = add(database, user, key=("k", "body"))
    assert add(database, user, key=("k", "body")) == first
    with pytest.raises(KeyReused):
        add(database, user, key=("k", "other"))
    with database.write() as session:
        other = accounts.user_named(session, "bob")
    assert add(database, other, key=("k", "other")) != first
    with database.write() as session:
        session.get_one(RequestKey, (user, "k")).created_at = time.time() - 25 * 3600
    assert add(database, user, key=("k", "other")) != first


def test_there_is_room_for_so_many(database, user):
    add(database, user)
    with pytest.raises(QueueFull) as own:
        add(database, user, room=Room(total=10, of_user=1))
    with pytest.raises(QueueFull) as all_:
        add(database, user, room=Room(total=1, of_user=10))
    assert (own.value.own, all_.value.own) == (True, False)
    claim(database)
    add(database, user, room=Room(total=1, of_user=10))


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_an_attempt_without_a_beat_is_requeued_and_one_that_beats_is_not(database, user):
    quiet, lively = add(database, user), add(database, user)
    with database.write() as session:
        queue.claim(session, quiet, "a")
        lease = queue.claim(session, lively, "b").lease
    clock = Clock()
    watch = LeaseWatch(database, lease_s=15, look_s=2, clock=clock)
    lost = []
    while not lost:
        assert clock.now < 40
        clock.now += 2
        with database.write() as session:
            queue.beat(session, lease)
        lost = watch.look()
    assert lost == [Lease(quiet, 1)]
    assert 15 <= clock.now <= 21
    assert state(database, quiet)[0] == "queued"
    assert state(database, lively)[0] == "running"


def test_a_watch_that_slept_itself_takes_no_lease(database, user):
    add(database, user)
    claim(database)
    clock = Clock()
    watch = LeaseWatch(database, lease_s=15, look_s=2, clock=clock)
    watch.look()
    clock.now += 3600
    assert watch.look() == []
    assert watch.look() == []


def test_a_wall_clock_that_jumps_takes_no_lease(database, user, monkeypatch):
    add(database, user)
    claim(database)
    clock = Clock()
    watch = LeaseWatch(database, lease_s=15, look_s=2, clock=clock)
    watch.look()
    real = time.time
    for jump in (86400.0, -86400.0):
        monkeypatch.setattr(time, "time", lambda jump=jump: real() + jump)
        clock.now += 2
        assert watch.look() == []


def test_what_a_dead_process_held_is_taken_at_once(database, user):
    one, other = add(database, user), add(database, user)
    with database.write() as session:
        queue.claim(session, one, "box/1")
        queue.claim(session, other, "box/10")
    assert LeaseWatch(database).take_from("box/1") == [Lease(one, 1)]
    assert state(database, other)[0] == "running"


def test_tokens_are_stored_as_digests_and_end_when_they_should(database):
    with database.write() as session:
        good, record = accounts.create_token(session, "ada", ["submit", "read"], 3600)
        late, _ = accounts.create_token(session, "ada", ["read"], -1)
        token_id = record.id
    with database.read() as session:
        caller, unused = accounts.caller_of(session, good)
        assert (caller.name, caller.may("submit"), caller.may("admin"), unused) == ("ada", True, False, True)
        assert accounts.caller_of(session, late) is None
        assert accounts.caller_of(session, good[:-1] + "é") is None
        stored = " ".join(map(str, session.execute(text("SELECT * FROM tokens")).all()))
    assert good not in stored
    assert good[3:] not in stored
    with database.write() as session:
        accounts.note_use(session, good)
        assert accounts.revoke_token(session, token_id)
        assert not accounts.revoke_token(session, "none")
    with database.read() as session:
        assert accounts.caller_of(session, good) is None
        assert [name for _, name in accounts.list_tokens(session)] == ["ada", "ada"]


def test_a_token_ends_with_the_one_it_was_made_with(database):
    def made(maker=None, lifetime_s=1000.0):
        with database.write() as session:
            text, token = accounts.create_token(session, "ada", ["read"], lifetime_s, maker=maker)
            return text, token.id, token.expires_at

    def caller(text):
        with database.read() as session:
            found = accounts.caller_of(session, text)
        return None if found is None else found[0]

    first, first_id, first_ends = made(lifetime_s=100.0)
    second, second_id, second_ends = made(caller(first))
    third, _, third_ends = made(caller(second), None)
    brief = made(caller(first), 10.0)
    assert second_ends == third_ends == first_ends
    assert brief[2] < first_ends
    apart = made()[0]
    unlimited = made(lifetime_s=None)
    assert unlimited[2] is None
    assert made(caller(unlimited[0]))[2] is not None
    maker = caller(second)
    with database.write() as session:
        accounts.revoke_token(session, second_id)
    assert [caller(text) is None for text in (first, second, third, brief[0], apart)] == [
        False, True, True, False, False
    ]  # fmt: skip
    with pytest.raises(UsageError, match="has ended"):
        made(maker)
    with database.write() as session:
        accounts.revoke_token(session, first_id)
    assert [caller(text) is None for text in (first, brief[0], apart)] == [True, True, False]


@pytest.mark.parametrize("name", ["", " ", "a" * 65, "a\0b", "../x", "-x", "é"])
def test_a_name_that_is_none_is_refused(database, name):
    with pytest.raises(UsageError), database.write() as session:
        accounts.user_named(session, name)


@pytest.mark.parametrize("scopes", [[], ["root"], ["read", "x"]])
def test_a_scope_that_is_none_is_refused(database, scopes):
    with pytest.raises(UsageError, match="submit, read, admin"), database.write() as session:
        accounts.create_token(session, "ada", scopes, None)


def test_pages_go_back_from_the_newest_without_holes_while_new_ones_arrive(database, user):
    ids = [add(database, user) for _ in range(5)]
    with database.read() as session:
        first = submissions.page(session, user_id=user, limit=2)
    add(database, user)
    with database.read() as session:
        rest = submissions.page(session, user_id=user, before=first[-1][0].number, limit=10)
        none = submissions.page(session, user_id=user, state="done")
        public = submissions.page(session, user_id=None)
    assert [found.id for found, _ in [*first, *rest]] == ids[::-1]
    assert (none, public) == ([], [])


def test_the_position_counts_those_who_are_served_first(database, user):
    waiting = [add(database, user) for _ in range(3)]
    sample = add(database, user, cases="sample")
    with database.read() as session:
        places = [submissions.position(session, submissions.find(session, s)[0]) for s in [*waiting, sample]]
        [(name, count, _)] = submissions.waiting_by_queue(session)
    assert places == [2, 3, 4, 1]
    assert (name, count) == ("cpu", 4)


def test_pruning_takes_what_is_old_and_over_and_nothing_else(database, user):
    old = add(database, user, source=b"old")
    finish(database, claim(database).lease)
    waiting = add(database, user, source=b"waiting")
    shared, again = add(database, user, source=b"waiting"), add(database, user, source=b"again")
    for one in (shared, again):
        with database.write() as session:
            queue.cancel(session, one)
    with database.write() as session:
        queue.rejudge(session, again)
    assert pruning.prune(database, time.time() - 60) == 0
    with database.read() as session:
        assert set(pruning.prunable(session, time.time() + 60)) == {old, shared}
    assert pruning.prune(database, time.time() + 60) == 2
    with database.read() as session:
        assert submissions.find(session, old) is None
        assert submissions.find(session, shared) is None
        assert submissions.find(session, waiting) is not None
        assert set(session.scalars(select(Source.data))) == {b"waiting", b"again"}
        assert set(session.scalars(select(Event.submission_id))) == {waiting, again}


def test_a_gpu_keeps_the_rates_that_were_measured_on_it(database, user):
    rates = Rates(read_gbs=3900.0, copy_gbs=4100.0, f32_tflops=51.0, f16_tflops=770.0, overhead_us=2.5, samples=9)
    timing = Timing(median_us=5.0, p10_us=4.9, p90_us=5.1, samples=50, rel_ci95=0.01, cold=True, rates=rates)
    gpu = devices.Lane("h/cuda0", ("cuda",), "cuda", "NVIDIA H200", "sm_90", "isolated")
    cpu = replace(gpu, worker="h/cpu0", queues=("cpu",), kind="cpu", name="host")

    def roofs():
        with database.read() as session:
            return {one.worker: one.roofs for one in devices.devices(session)}

    with database.write() as session:
        devices.announce(session, gpu)
        devices.announce(session, cpu)
    for worker in ("h/cuda0", "h/cpu0"):
        add(database, user)
        finish(database, claim(database, worker=worker).lease, report(timing=timing))
    assert roofs() == {"h/cuda0": rates.model_dump(), "h/cpu0": {}}
    with database.write() as session:
        devices.announce(session, gpu)
    assert roofs()["h/cuda0"] == rates.model_dump()
    # Another GPU in the same place has been measured nothing of.
    with database.write() as session:
        devices.announce(session, replace(gpu, name="NVIDIA B200"))
    assert roofs()["h/cuda0"] == {}


def test_no_statement_of_the_service_scans_a_table_that_grows(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/a.db")
    migrate(database)
    with database.write() as session:
        user = accounts.user_named(session, "ada")
    statements = []

    @event.listens_for(database.engine, "before_cursor_execute")
    def note(connection, cursor, statement, parameters, context, executemany):
        if not executemany and statement.lstrip().startswith(("SELECT", "UPDATE")):
            statements.append((statement, parameters))

    ids = [add(database, user, key=(str(i), "b")) for i in range(3)]
    lease = claim(database).lease
    with database.write() as session:
        queue.beat(session, lease, [("case", {}, 0.0)])
    finish(database, lease)
    with database.write() as session:
        queue.cancel(session, ids[1])
        queue.rejudge(session, ids[0])
        accounts.create_token(session, "ada", ["read"], None)
    with database.read() as session:
        queue.running_attempts(session)
        found, _ = submissions.find(session, ids[0])
        submissions.report_of(session, found)
        submissions.attempts_of(session, ids[0])
        submissions.events_after(session, ids[0], 1)
        submissions.page(session, user_id=user, problem_id="splitk-merge", before=3)
        submissions.page(session, user_id=user)
        submissions.page(session, user_id=None)
        submissions.position(session, found)
        submissions.waiting_by_queue(session)
        submissions.changes(session, ids)
        accounts.caller_of(session, "kj_" + "a" * 43)
    assert len(statements) > 20
    with database.engine.connect() as connection:
        plans = {
            statement: [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
            for statement, parameters in statements
        }
    # An index that holds only what waits or runs is as long as the queue, not as the history; of devices are few.
    bounded = ("ix_submissions_waiting", "ix_submissions_open_of_user", "ix_attempts_running", "SCAN devices")
    scans = {
        statement: plan
        for statement, plan in plans.items()
        if any(step.startswith("SCAN") and not any(name in step for name in bounded) for step in plan)
    }
    assert scans == {}
    assert Submission.__tablename__ in " ".join(plans)
