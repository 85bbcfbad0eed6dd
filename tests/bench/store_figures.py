"""Rates of the store alone, with no HTTP and no kernel: how many submissions go in and out a second.

    python -m tests.bench.store_figures [--stored 1000 100000] [--seconds 3] [--postgresql]

In: groups of 16, as the API stores them. Out: claim, one batch of 28 events, finish, by one and by several
claimers. Each at several numbers of submissions that were judged before, beside a thousand that wait.
"""

import argparse
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from sqlalchemy import insert

from judge.records import BackendReport, CaseReport, CompileReport, ProblemReference, Report, SubmissionReport
from judge.reports.json import render_json
from judge.store import accounts, queue, submissions
from judge.store.database import Database
from judge.store.desk import Desk, Room
from judge.store.models import Base
from judge.store.schema import migrate
from judge.store.submissions import NewSubmission
from judge.verdict import Verdict
from tests.service.conftest import free_port
from tests.service.postgresql import PostgreSQL

GROUP = 16
WAITING = 1_000
ROOM = Room(10**7, 10**7)
SUBMISSIONS = Base.metadata.tables["submissions"]
EVENTS = [("case", {"name": f"case-{n}", "verdict": "accepted", "seconds": 0.01}, 0.0) for n in range(28)]


def new(user: str, number: int) -> NewSubmission:
    source = b"// %d\n" % number + b"__global__ void merge() {}\n" * 60
    return NewSubmission(
        user, "splitk-merge", "0123456789ab", source, "a.cu", "cpu", None, "all", "private", None, "cpu"
    )


def report() -> Report:
    backend = BackendReport(kind="cpu", device="CPU", arch="sm_90", isolation="isolated")
    cases = [CaseReport(name=f"case-{n}", group="hidden", verdict=Verdict.ACCEPTED, backend="cpu") for n in range(28)]
    return Report(
        judge_version="1",
        submission=SubmissionReport(name="a.cu", sha256="0" * 64, source_bytes=1700),
        problem=ProblemReference(id="splitk-merge", version="0123456789ab"),
        verdict=Verdict.ACCEPTED,
        message="All cases right.",
        backend=backend,
        backends=(backend,),
        seed=1,
        compile=CompileReport(ok=True),
        cases=tuple(cases),
    )


def fill(database: Database, user: str, count: int) -> None:
    """So many submissions that are done, stored without their attempts."""
    with database.write() as session:
        made = submissions.create(session, new(user, 0), ROOM)[0]
        row = session.execute(SUBMISSIONS.select().where(SUBMISSIONS.c.id == made.id)).mappings().one()
    done = {**row, "state": "done", "verdict": "accepted", "finished_at": time.time()}
    del done["number"]
    for start in range(0, count, 10_000):
        rows = [{**done, "id": f"{n:032x}"} for n in range(start, min(count, start + 10_000))]
        with database.write() as session:
            session.execute(insert(SUBMISSIONS), rows)


def rate(seconds: float, threads: int, step: Callable[[int], int]) -> float:
    """What a step gives, a second, by so many threads."""
    done = [0] * threads
    end = time.monotonic() + seconds

    def work(place: int) -> None:
        while time.monotonic() < end:
            done[place] += step(place)

    running = [threading.Thread(target=work, args=(place,)) for place in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return sum(done) / seconds


def figures(url: str, stored: int, seconds: float) -> Iterator[tuple[str, float]]:
    database = Database(url)
    migrate(database)
    with database.write() as session:
        user = accounts.user_named(session, "ada")
    fill(database, user, stored)
    numbers = iter(range(1, 10**9))

    def put(count: int = GROUP) -> int:
        with database.write() as session:
            desk = Desk(session, ROOM, {user})
            submissions.create_many(session, desk, [(new(user, next(numbers)), None) for _ in range(count)])
        return count

    put(WAITING)
    yield "in, groups of 16", rate(seconds, 1, lambda _: put())
    yield "in, one by one", rate(seconds, 1, lambda _: put(1))
    told = report()
    text = render_json(told)

    def take(place: int) -> int:
        with database.write() as session:
            claimed = queue.claim_next(session, ("cpu",), f"w{place}")
        assert claimed is not None
        with database.write() as session:
            queue.beat(session, claimed.lease, EVENTS)
        with database.write() as session:
            queue.finish(session, claimed.lease, told, text)
        return 1

    for threads in (1, 4):
        yield f"out, {threads} at once", rate(seconds, threads, take)
    with database.read() as session:
        found = submissions.page(session, user_id=user, limit=1)[0][0]

    def look(_place: int) -> int:
        with database.read() as session:
            submissions.find(session, found.id)
            submissions.page(session, user_id=user, limit=20)
        return 1

    yield "reads of one and of a page", rate(seconds, 1, look)
    database.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stored", type=int, nargs="+", default=[1_000, 100_000])
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--postgresql", action="store_true")
    options = parser.parse_args()
    server = PostgreSQL(free_port(), durable=True) if options.postgresql else None
    try:
        with tempfile.TemporaryDirectory() as name:
            for stored in options.stored:
                urls = {"SQLite": f"sqlite:///{Path(name)}/{stored}.db"}
                if server is not None:
                    urls["PostgreSQL"] = server.new_database()
                for where, url in urls.items():
                    for what, figure in figures(url, stored, options.seconds):
                        print(f"{where:<12}{stored:>9} stored   {what:<28}{figure:>9.0f} a second", flush=True)
    finally:
        if server is not None:
            server.remove()


if __name__ == "__main__":
    main()
