"""Judges one claimed submission: beats while it lasts, stores what came of it, stops when it is no longer wanted."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import structlog
from sqlalchemy.orm import Session

from judge.compiler import compile_unit
from judge.dispatch.sink import Abandoned, StoreSink
from judge.errors import JudgeError, NothingToDoError, UsageError
from judge.pipeline import Compile, judge_submission
from judge.problem import Problem
from judge.records import Report
from judge.reports.json import render_json
from judge.selection import Options
from judge.store import queue
from judge.store.database import Database, StoreUnavailable
from judge.store.leases import BEAT_S
from judge.store.queue import Claimed, Lease, StaleLease
from judge.verdict import Verdict
from judge.worker.pool import Loan, PoolClosed
from judge.worker.supervisor import Kind

FLUSH_S = 0.15
MAX_PAUSE_S = 2.0

Lend = Callable[[], Loan]

_log = structlog.get_logger()


@dataclass
class Runner:
    """One lane's way to judge. lenders: where workers of each kind come from. problem: loads one by its id.

    compile_: what compiles. stopping: set when the process is to end; then nothing is waited for.
    """

    database: Database
    worker: str
    lenders: Mapping[Kind, Lend]
    problem: Callable[[str], Problem]
    compile_: Compile = compile_unit
    stopping: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._sink: StoreSink | None = None
        self._loans: list[Loan] = []
        self._lock = threading.Lock()

    def run(self, claimed: Claimed) -> Verdict | None:
        """Judge and store; the verdict, or None when the attempt ended without one of its own."""
        log = _log.bind(
            submission=claimed.lease.submission_id,
            attempt=claimed.lease.attempt,
            worker=self.worker,
            problem=f"{claimed.problem_id}@{claimed.problem_version}",
        )
        log.info("judging", queue_backend=claimed.backend, cases=claimed.cases)
        sink = StoreSink()
        with self._lock:
            self._sink, self._loans = sink, []
        ended = threading.Event()
        beats = threading.Thread(target=self._beat, args=(claimed, sink, ended), name="judge-beat", daemon=True)
        beats.start()
        try:
            report = self._judge(claimed, sink)
        except Abandoned:
            log.info("abandoned")
            return None
        except PoolClosed:
            return None
        except JudgeError as error:
            ended.set()
            beats.join()
            reason = str(error)
            self._settle(claimed.lease, lambda session: queue.fail(session, claimed.lease, reason, None))
            log.error("machine failed", reason=reason)
            return Verdict.JUDGE_ERROR
        finally:
            ended.set()
            with self._lock:
                self._sink = None
        beats.join()
        stored = self._store(claimed, sink, report)
        log.info(
            "judged" if stored else "result came too late",
            verdict=report.verdict.value,
            seconds=round(report.seconds, 3),
            device=", ".join(backend.device for backend in report.backends),
            incident=report.incident,
        )
        return report.verdict if stored else None

    def abandon(self) -> None:
        """Stop what runs, from any thread: its worker processes are killed."""
        with self._lock:
            if self._sink is not None:
                self._sink.drop()
            loans = list(self._loans)
        for loan in loans:
            loan.cancel()

    def _judge(self, claimed: Claimed, sink: StoreSink) -> Report:
        problem = self.problem(claimed.problem_id)
        if problem.version != claimed.problem_version:
            told = f"the problem is version {problem.version} here; it was {claimed.problem_version} when this was sent"
            sink.note(told)
        backend = claimed.backend if "cuda" in self.lenders else "cpu"
        options = Options(
            backend="cuda" if backend == "cuda" else "cpu" if backend == "cpu" else "auto",
            group="sample" if claimed.cases == "sample" else "bench" if claimed.cases == "bench" else "all",
            seed=claimed.seed,
        )
        try:
            return judge_submission(problem, claimed.source, claimed.name, options, sink, self._start, self.compile_)
        except (UsageError, NothingToDoError) as error:
            # The API refuses these; a device that went away since is the one way to come here.
            raise JudgeError(str(error)) from error

    def _start(self, kind: Kind) -> Loan:
        loan = self.lenders[kind]()
        with self._lock:
            if self._sink is None or self._sink.dropped:
                loan.close()
                raise Abandoned
            self._loans = [held for held in self._loans if held.alive] + [loan]
        return loan

    def _beat(self, claimed: Claimed, sink: StoreSink, ended: threading.Event) -> None:
        last = time.monotonic()
        while not ended.wait(FLUSH_S):
            lines = sink.take()
            if not lines and time.monotonic() - last < BEAT_S:
                continue
            try:
                with self.database.write() as session:
                    queue.beat(session, claimed.lease, lines)
                last = time.monotonic()
            except StaleLease:
                self.abandon()
                return
            except StoreUnavailable:
                sink.put_back(lines)
                ended.wait(BEAT_S)

    def _store(self, claimed: Claimed, sink: StoreSink, report: Report) -> bool:
        text = render_json(report, compact=True)
        lease = claimed.lease
        if report.verdict is Verdict.JUDGE_ERROR:
            return self._settle(
                lease, lambda session: queue.fail(session, lease, report.message, report.incident, text)
            )
        lines = sink.take()
        return self._settle(lease, lambda session: queue.finish(session, lease, report, text, lines))

    def _settle(self, lease: Lease, write: Callable[[Session], object]) -> bool:
        """Write the end of the attempt however long the database is away; False when it was no longer ours."""
        pause_s = FLUSH_S
        while True:
            try:
                with self.database.write() as session:
                    write(session)
                return True
            except StaleLease:
                return False
            except StoreUnavailable as error:
                _log.warning("cannot store a result yet", reason=str(error), submission=lease.submission_id)
                if self.stopping.wait(pause_s):
                    return False
                pause_s = min(2 * pause_s, MAX_PAUSE_S)

    def give_back(self, claimed: Claimed, reason: str) -> None:
        """Let another lane have it; where the database is away the lease ends by itself."""
        try:
            with self.database.write() as session:
                queue.give_back(session, claimed.lease, reason)
        except (StaleLease, StoreUnavailable):
            pass
