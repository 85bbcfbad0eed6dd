"""Kills and pauses parts of a service at random while it is under load, and then looks for what went wrong.

    python -m tests.bench.kill_campaign [--kills 1000] [--postgresql] [--seed 1] [--pause 0.6] [--seconds 600]

On SQLite one house with two lanes is the victim; on PostgreSQL a server and three houses of workers, and the
database itself. At the end nothing may be lost, judged twice into the record, or stuck. Prints a table; exit code 1
when anything was found.
"""

import argparse
import faulthandler
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from sqlalchemy import select, text

from judge.dispatch.serving import prepare
from judge.store.database import Database, StoreUnavailable
from judge.store.models import Attempt, CaseResult, Event, Submission
from tests.service.conftest import free_port
from tests.service.postgresql import PostgreSQL
from tests.service.running import RIGHT, SCRIPT, WRONG, Running, body

API = "judge.api.main"
LANE = "judge.dispatch.lane"
SETTLE_S = 180.0
QUIET_LIMIT_S = 4.0
PARKED = "judge_error"

BROKEN = "// @launch merge<<<1, 1>>>(o_part, m_part, l_part, out, S)\n__global__ void merge( {\n"
LOAD = ((BROKEN, "compile_error"), (BROKEN, "compile_error"), (RIGHT, "accepted"), (WRONG, "wrong_answer"))
"""Sources and the verdicts they get. Most are cheap: what is tested is the record, not the kernels."""


@dataclass
class Outcome:
    kills: Counter[str] = field(default_factory=Counter)
    submitted: int = 0
    attempts: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def table(self) -> str:
        rows = [("kills and pauses", sum(self.kills.values()))]
        rows += [(f"  {name}", count) for name, count in sorted(self.kills.items())]
        rows += [("submissions answered", self.submitted)]
        rows += [(f"  attempts {name}", count) for name, count in sorted(self.attempts.items())]
        rows += [(f"  verdict {name}", count) for name, count in sorted(self.verdicts.items())]
        rows += [("lost, doubled or stuck", len(self.wrong))]
        return "\n".join([*(f"{name:<32}{count:>8}" for name, count in rows), *self.wrong[:20]])


@dataclass
class Sent:
    key: str
    source: str
    verdict: str
    ids: set[str] = field(default_factory=set)


class Campaign:
    """folder: for logs and the SQLite file. server: the database to use and to kill, None for SQLite.

    waiting: submissions kept waiting. long_s: the longest pause, which a few get.
    """

    def __init__(
        self,
        folder: Path,
        server: PostgreSQL | None,
        seed: int,
        *,
        lanes: int = 2,
        waiting: int = 6,
        long_s: float = 20.0,
    ) -> None:
        self._folder = folder
        self._server = server
        self._random = random.Random(seed)
        self._url = f"sqlite:///{folder}/judge.db" if server is None else server.new_database()
        self._port = free_port()
        self._waiting = waiting
        self._long_s = long_s
        self._enough = threading.Event()
        self._sent: list[Sent] = []
        self._happened = 0
        self._paused: list[threading.Thread] = []
        cpu_lanes = ["--cpu-lanes", str(lanes if server is None else 0)]
        serve = ["serve", "--port", str(self._port), "--database", self._url, *cpu_lanes]
        worker = ["worker", "--database", self._url, "--cpu-lanes", "1", "--queue", "cpu"]
        self._commands = [serve, *([worker] * lanes if server is not None else [])]
        self._houses: list[House] = []
        self.outcome = Outcome()

    def run(self, kills: int, pause_s: float, budget_s: float = float("inf")) -> Outcome:
        """kills: how many, none of them later than budget_s. pause_s: the longest time between two."""
        end = time.monotonic() + budget_s
        database = Database(self._url)
        prepare(database)
        self._houses = [House(command, self._folder) for command in self._commands]
        loading = threading.Thread(target=self._load)
        loading.start()
        try:
            self._until_served()
            for _ in range(kills):
                if time.monotonic() > end:
                    break
                self._until_something_happened()
                time.sleep(self._random.uniform(0.0, pause_s))
                self._strike()
                for house in self._houses:
                    house.keep()
            for pause in self._paused:
                pause.join()
            self._enough.set()
            while loading.is_alive():
                for house in self._houses:
                    house.keep()
                loading.join(0.1)
            self._settle(database)
        finally:
            self._enough.set()
            for house in self._houses:
                house.end()
        self._check(database)
        database.close()
        return self.outcome

    def _load(self) -> None:
        """Keep some waiting; what gets no answer is sent again with its key until it gets one."""
        open_: list[Sent] = []
        with httpx.Client(base_url=f"http://127.0.0.1:{self._port}", timeout=40) as client:
            while not self._enough.is_set() or any(not one.ids for one in open_):
                open_ = [one for one in open_ if not one.ids or not self._over(client, one)]
                if len(open_) < self._waiting and not self._enough.is_set():
                    source, verdict = self._random_load()
                    open_.append(Sent(f"k{len(self._sent)}", f"{source}\n// {len(self._sent)}\n", verdict))
                    self._sent.append(open_[-1])
                for one in open_:
                    # Now and then one that was answered is sent once more: it must stay the same.
                    if not one.ids or time.monotonic() % 1 < 0.02:
                        self._post(client, one)
                time.sleep(0.05)

    def _random_load(self) -> tuple[str, str]:
        # Its own source of chance: how many it draws depends on the machine.
        return LOAD[len(self._sent) % len(LOAD)]

    def _post(self, client: httpx.Client, one: Sent) -> None:
        with suppress(httpx.TransportError):
            answer = client.post("/api/v1/submissions", json=body(one.source), headers={"Idempotency-Key": one.key})
            if answer.status_code == 202:
                self._happened += not one.ids
                one.ids.add(answer.json()["id"])
            elif answer.status_code not in {500, 503}:
                self.outcome.wrong.append(f"{one.key}: answered {answer.status_code}: {answer.text[:200]}")
            elif answer.status_code == 500:
                self.outcome.wrong.append(f"{one.key}: a fault of the API: {answer.text[:200]}")

    def _over(self, client: httpx.Client, one: Sent) -> bool:
        with suppress(httpx.TransportError):
            answer = client.get(f"/api/v1/submissions/{min(one.ids)}")
            if answer.status_code == 200 and answer.json()["state"] in {"done", "cancelled"}:
                self._happened += 1
                return True
        return False

    def _until_served(self) -> None:
        deadline = time.monotonic() + 120
        while not any(one.ids for one in list(self._sent)):
            assert time.monotonic() < deadline, "the service never came up"
            time.sleep(0.1)

    def _until_something_happened(self) -> None:
        """A service that never comes to do anything has nothing to lose: something is answered or over between two."""
        before, deadline = self._happened, time.monotonic() + QUIET_LIMIT_S
        while self._happened == before and time.monotonic() < deadline:
            for house in self._houses:
                house.keep()
            time.sleep(0.02)

    def _strike(self) -> None:
        ways: list[tuple[int, str, Callable[[], bool]]] = [
            (5, "lane killed", lambda: self._hit(LANE, signal.SIGKILL)),
            (3, "API killed", lambda: self._hit(API, signal.SIGKILL)),
            (3, "worker in its box killed", self._hit_worker),
            (4, "lane paused", lambda: self._hit(LANE, signal.SIGSTOP)),
            (3, "API paused", lambda: self._hit(API, signal.SIGSTOP)),
            (2, "house killed", self._hit_house),
        ]
        if self._server is not None:
            ways.append((2, "database killed", self._hit_database))
        while True:
            _, name, strike = self._random.choices(ways, [weight for weight, _, _ in ways])[0]
            if strike():
                self.outcome.kills[name] += 1
                return
            time.sleep(0.05)

    def _hit(self, module: str, how: signal.Signals) -> bool:
        pids = [pid for house in self._houses for pid in descendants(house.pid, module)]
        if not pids:
            return False
        return self._send(self._random.choice(pids), how)

    def _hit_worker(self) -> bool:
        lanes = [pid for house in self._houses for pid in descendants(house.pid, LANE)]
        boxed = [pid for lane in lanes for pid in descendants(lane, "judge.worker.main")]
        return bool(boxed) and self._send(self._random.choice(boxed), signal.SIGKILL)

    def _hit_house(self) -> bool:
        return self._send(self._random.choice(self._houses).pid, signal.SIGKILL)

    def _hit_database(self) -> bool:
        assert self._server is not None
        self._server.stop(signal.SIGQUIT)
        time.sleep(self._random.uniform(0.0, 1.0))
        self._server.start()
        return True

    def _send(self, pid: int, how: signal.Signals) -> bool:
        # A long one now and then: its lease ends, and it wakes up to find that it has lost it.
        pause_s = self._long_s if self._random.random() < 0.05 else self._random.uniform(0.05, 1.5)
        try:
            os.kill(pid, how)
        except ProcessLookupError:
            return False
        if how == signal.SIGSTOP:
            self._paused.append(threading.Thread(target=self._resume, args=(pid, pause_s)))
            self._paused[-1].start()
        return True

    def _resume(self, pid: int, after_s: float) -> None:
        time.sleep(after_s)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    def _settle(self, database: Database) -> None:
        """Until everything is over; what is not by then is stuck."""
        deadline = time.monotonic() + SETTLE_S
        waiting = select(Submission.id).where(Submission.state.in_(("queued", "running")))
        while time.monotonic() < deadline:
            for house in self._houses:
                house.keep()
            with suppress(StoreUnavailable), database.read() as session:
                if session.scalars(waiting.limit(1)).first() is None:
                    return
            time.sleep(0.2)

    def _check(self, database: Database) -> None:
        outcome, wrong = self.outcome, self.outcome.wrong
        with database.read() as session:
            stored = {one.id: one for one in session.scalars(select(Submission))}
            attempts = session.scalars(select(Attempt).order_by(Attempt.submission_id, Attempt.number)).all()
            events = session.execute(
                select(Event.submission_id, Event.number, Event.kind).order_by(Event.submission_id, Event.number)
            ).all()
            cases = session.execute(select(CaseResult.submission_id, CaseResult.attempt).distinct()).all()
            if self._server is None and session.scalar(text("PRAGMA integrity_check")) != "ok":
                wrong.append("the file is damaged")
        outcome.submitted = sum(bool(one.ids) for one in self._sent)
        known = {id_: one for one in self._sent for id_ in one.ids}
        wrong += [f"{one.key}: {len(one.ids)} submissions of one key" for one in self._sent if len(one.ids) > 1]
        wrong += [f"{id_}: answered and lost" for id_ in known if id_ not in stored]
        wrong += [f"{id_}: stored twice" for id_ in stored if id_ not in known]
        for id_, one in stored.items():
            tried = [attempt for attempt in attempts if attempt.submission_id == id_]
            told = [(number, kind) for owner, number, kind in events if owner == id_]
            written = [attempt for owner, attempt in cases if owner == id_]
            outcome.attempts.update(attempt.state for attempt in tried)
            outcome.verdicts[str(one.verdict)] += 1
            wrong += [f"{id_}: {what}" for what in _faults(one, known.get(id_), tried, told, written)]


def _faults(
    one: Submission, sent: Sent | None, tried: list[Attempt], told: list[tuple[int, str]], written: list[int]
) -> list[str]:
    """What is wrong with the record of a submission."""
    found = []
    done = [attempt.number for attempt in tried if attempt.state == "done"]
    parked = one.verdict == PARKED and one.faults == 3
    if one.state != "done":
        found.append(f"stuck in state {one.state}")
    elif sent is not None and one.verdict != sent.verdict and not parked:
        found.append(f"{one.verdict} in place of {sent.verdict}")
    if len(done) != (0 if parked or one.state != "done" else 1):
        found.append(f"{len(done)} attempts ended as done")
    if [attempt.number for attempt in tried] != list(range(1, one.attempt + 1)):
        found.append("its attempts have holes")
    if any(attempt.state == "running" for attempt in tried):
        found.append("an attempt runs for ever")
    if [number for number, _ in told] != list(range(1, one.events + 1)):
        found.append("its events have holes")
    if sum(kind == "done" for _, kind in told) != 1:
        found.append("it did not end once")
    if not set(written) <= set(done):
        found.append("results of an attempt that is not the one")
    return found


class House:
    """`judge serve` or `judge worker`, started again when it is found dead."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self._command = [sys.executable, str(SCRIPT), *command]
        self._folder = folder
        self._started: Running | None = None
        self._start()

    def _start(self) -> None:
        self._started = Running(self._command, self._folder, port=1, wait=False)

    @property
    def pid(self) -> int:
        assert self._started is not None
        return self._started.process.pid

    def keep(self) -> None:
        assert self._started is not None
        if self._started.process.poll() is not None:
            self._started.client.close()
            self._start()

    def end(self) -> None:
        assert self._started is not None
        self._started.stop()


def descendants(pid: int, module: str) -> list[int]:
    """Ids of all processes below one that run a module."""
    parents: dict[int, list[int]] = {}
    running = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError, IndexError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(folder.name))
            if fields[0] != "Z" and module.encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                running.add(int(folder.name))
    found, below = [], [pid]
    while below:
        one = below.pop()
        below += parents.get(one, [])
        if one in running and one != pid:
            found.append(one)
    return sorted(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=float, default=1.2)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no further kill after so many")
    parser.add_argument("--postgresql", action="store_true")
    options = parser.parse_args()
    # Who ends one that takes too long sees where it stood.
    faulthandler.register(signal.SIGTERM, chain=True)
    server = PostgreSQL(free_port()) if options.postgresql else None
    lanes = 2 if server is None else 3
    try:
        with tempfile.TemporaryDirectory() as name:
            outcome = Campaign(Path(name), server, options.seed, lanes=lanes).run(
                options.kills, options.pause, options.seconds
            )
    finally:
        if server is not None:
            server.remove()
    print("PostgreSQL" if options.postgresql else "SQLite")
    print(outcome.table())
    raise SystemExit(bool(outcome.wrong))


if __name__ == "__main__":
    main()
