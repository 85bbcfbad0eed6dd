"""A lane: one process that judges one submission at a time on one device, with warm workers.

    judge serve, judge worker  ->  python -m judge.dispatch.lane  ->  boxed workers

Its process is the border of a fault: what kills it costs the one submission it held.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import structlog

from judge.catalogue import load_problem
from judge.compiler import CPU_ARCH, Target, WarmBoxes
from judge.dispatch.bell import bell_of
from judge.dispatch.children import die_with_parent
from judge.dispatch.logs import configure_logs
from judge.dispatch.runner import Runner
from judge.starting import imported
from judge.store import devices
from judge.store.database import Database, StoreUnavailable
from judge.store.leases import LEASE_S
from judge.store.models import Submission
from judge.store.queue import Claimed, StaleLease, claim_next, give_back, in_state, running_attempts
from judge.verdict import Verdict
from judge.worker.pool import Loan, Pool
from judge.worker.supervisor import Kind, Worker

SETTINGS_VARIABLE = "JUDGE_LANE"
POLL_S = 0.04
POLL_WITH_BELL_S = 0.2
UNDISTURBED_S = 0.5
AWAY_S = 1.0
WORKERS_OF_A_SUBMISSION: dict[Kind, int] = {"cpu": 1, "cuda": 2}
"""On a GPU the fast and the optimized module get a process each."""

SEEN_S = 5.0
DRAIN_S = 0.8
"""So long a lane that is told to end may go on with what it judges; then it gives it back."""

FAULTS_IN_A_ROW = 5
QUARANTINE_S = 60.0
COLD_LIMIT_S = 30.0

_log = structlog.get_logger()


@dataclass(frozen=True)
class LaneSettings:
    """database: its URL. kind and ordinal: the device. queues: what it takes from, apart from any order.

    waiting_bell and changed_bell: descriptors of what wakes the lane and what it rings, -1 for none.
    """

    database: str
    worker: str
    kind: Kind
    queues: tuple[str, ...]
    ordinal: int = 0
    warm: int = 1
    waiting_bell: int = -1
    changed_bell: int = -1

    def as_json(self) -> str:
        return json.dumps(asdict(self))


class Health:
    """Whether the lane may take work. Judge errors in a row or a device that does not come up keep it from that."""

    def __init__(
        self,
        warm: Callable[[], int],
        clock: Callable[[], float] = time.monotonic,
        failure: Callable[[], str] = str,
    ) -> None:
        self._warm = warm
        self._failure = failure
        self._clock = clock
        self._faults = 0
        self._until = 0.0
        self._warm_at = clock()

    def judged(self, verdict: Verdict | None) -> None:
        if verdict is None:
            return
        self._faults = self._faults + 1 if verdict is Verdict.JUDGE_ERROR else 0
        if self._faults >= FAULTS_IN_A_ROW:
            # One more try when the time is over; a single further fault begins another.
            self._faults = FAULTS_IN_A_ROW - 1
            self._until = self._clock() + QUARANTINE_S

    def state(self) -> tuple[str, str]:
        """State of the device and the reason where it is not ready."""
        now = self._clock()
        if self._warm() > 0:
            self._warm_at = now
        if now < self._until:
            return "quarantined", f"{FAULTS_IN_A_ROW} submissions in a row ended as judge_error"
        if now - self._warm_at > COLD_LIMIT_S:
            why = self._failure()
            return "quarantined", f"no worker comes up on this device{': ' if why else ''}{why}"
        return "ready", ""

    def ready(self) -> bool:
        return self._warm() > 0 and self.state()[0] == "ready"


class LaneProcess:
    def __init__(self, settings: LaneSettings) -> None:
        self.settings = settings
        self.stop = threading.Event()
        self.database = Database(settings.database, must_exist=True)
        self._bell = bell_of(settings.waiting_bell)
        changed = bell_of(settings.changed_bell)
        if changed is not None:
            self.database.after_write = changed.ring
        self.pools = {kind: self._pool(kind) for kind in self._kinds()}
        main = self.pools[settings.kind]
        self.health = Health(lambda: main.warm, failure=lambda: main.failure)
        self._undisturbed_s = 0.0
        self._claims_may_come_until = 0.0
        lenders: dict[Kind, Callable[[], Loan]] = {kind: self._lender(pool) for kind, pool in self.pools.items()}
        self.boxes = WarmBoxes(_targets(settings.kind), UNDISTURBED_S)
        self.runner = Runner(self.database, settings.worker, lenders, load_problem, self.boxes.compile, self.stop)
        self._announced = False
        self._seen_at = -SEEN_S

    def _kinds(self) -> tuple[Kind, ...]:
        # A GPU lane judges on the CPU too: a verdict is the conjunction of both.
        return ("cpu",) if self.settings.kind == "cpu" else ("cuda", "cpu")

    def _pool(self, kind: Kind) -> Pool:
        ordinal = self.settings.ordinal if kind == "cuda" else 0
        size = self.settings.warm * WORKERS_OF_A_SUBMISSION[kind]
        return Pool(kind, size, lambda: Worker(kind, ordinal=ordinal))

    def _lender(self, pool: Pool) -> Callable[[], Loan]:
        return lambda: pool.lend(COLD_LIMIT_S, undisturbed_s=self._undisturbed_s)

    def run(self) -> None:
        """Judge until the process is told to end."""
        signal.signal(signal.SIGTERM, lambda *_: self.stop.set())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.announce_start()
        try:
            if self.database.sqlite:
                self._poll()
            else:
                self._follow()
        finally:
            with suppress(StoreUnavailable):
                self._return_unknown_claims()
            self.say_seen("gone", "ended")
            for pool in self.pools.values():
                pool.close()
            self.boxes.close()
            self.database.close()

    def _poll(self) -> None:
        while not self.stop.is_set():
            if self._bell is not None and self.health.ready():
                self._bell.wait(POLL_WITH_BELL_S)
            else:
                # A ring is left for a lane that can judge.
                self.stop.wait(POLL_S)
            self._round()

    def _follow(self) -> None:
        """Judge when woken by a job, and from time to time without one."""
        from judge.dispatch.cluster import IDLE_POLL_S, Waker

        waker: Waker | None = None
        looked_at = 0.0
        while not self.stop.is_set():
            if waker is None and self.health.ready():
                # A lane that cannot judge takes no job either.
                waker = Waker(self.database, self.settings.worker, self.settings.queues)
            # A nudge is kept while the next worker comes up; followed too early it would be lost for a second.
            ready = waker is not None and self.health.ready()
            nudge = waker.wait(POLL_S) if waker is not None and ready else None
            if nudge is None and time.monotonic() - looked_at < IDLE_POLL_S:
                self.stop.wait(0.0 if ready else POLL_S)
                continue
            self._round()
            looked_at = time.monotonic()
            if nudge is not None:
                nudge.set()

    def _round(self) -> None:
        """Judge until nothing waits."""
        try:
            self._return_unknown_claims()
            self.tick()
            while not self.stop.is_set() and self.health.ready() and self._work_waits():
                claimed = self._claim()
                if claimed is None:
                    return
                # The start of the next worker takes a core from the one that judges; where nobody waits it can wait.
                self._undisturbed_s = 0.0 if self._more_work_waits() else UNDISTURBED_S
                self.judge(claimed)
        except StoreUnavailable as error:
            _log.warning("the store is away", reason=str(error), worker=self.settings.worker)
            self.stop.wait(AWAY_S)

    def _claim(self) -> Claimed | None:
        try:
            with self.database.write() as session:
                return claim_next(session, self.settings.queues, self.settings.worker)
        except StoreUnavailable:
            self._claims_may_come_until = time.monotonic() + LEASE_S
            raise

    def _return_unknown_claims(self) -> None:
        """A database that went away before it answered may have stored the claim; nobody would judge it.

        It may also store it later, while it still works on the commit: what comes after LEASE_S is found by others.
        """
        if time.monotonic() >= self._claims_may_come_until:
            return
        with self.database.read() as session:
            held = [lease for lease, worker, _ in running_attempts(session) if worker == self.settings.worker]
        for lease in held:
            with self.database.write() as session, suppress(StaleLease):
                give_back(session, lease, "the database went away while a worker took it")

    def _more_work_waits(self) -> bool:
        """Only advice: what is claimed is judged, whether the database answers this or not."""
        try:
            return self._work_waits()
        except StoreUnavailable:
            return False

    def _work_waits(self) -> bool:
        # A look that locks nothing; only when there is something does the lane queue up with other writers.
        with self.database.read() as session:
            waiting = session.query(Submission.number).where(
                Submission.queue.in_(self.settings.queues), in_state("queued")
            )
            return waiting.limit(1).first() is not None

    def judge(self, claimed: Claimed) -> None:
        """Judge in a thread; when the lane is to end and it takes too long, give the submission back."""
        verdicts: list[Verdict | None] = []
        thread = threading.Thread(target=lambda: verdicts.append(self.runner.run(claimed)), name="judge-run")
        thread.start()
        while thread.is_alive():
            thread.join(0.05)
            self.tick_quietly()
            if self.stop.is_set():
                thread.join(DRAIN_S)
                if thread.is_alive():
                    self.runner.give_back(claimed, "its worker was shut down")
                    self.runner.abandon()
                    thread.join(0.5)
                    if thread.is_alive():
                        # A compilation cannot be stopped from here; its box ends with this process.
                        os._exit(0)
                return
        if not verdicts:
            # The thread died of something nobody foresaw. The process goes, and its lease with it.
            os._exit(70)
        self.boxes.refill()
        self.health.judged(verdicts[0])
        if verdicts[0] is not None:
            self.say_seen(*self.health.state(), judged=True)

    def tick_quietly(self) -> None:
        try:
            self.tick()
        except StoreUnavailable:
            self._seen_at = time.monotonic()

    def tick(self) -> None:
        """Announce the device once it is warm, and then every few seconds that it is there."""
        now = time.monotonic()
        if not self._announced:
            self._announce()
        elif now - self._seen_at > SEEN_S:
            self.say_seen(*self.health.state())

    def announce_start(self) -> None:
        """Let submissions wait for the device from now on, instead of being refused until its first worker is up."""
        try:
            with self.database.write() as session:
                settings = self.settings
                devices.announce_start(session, settings.worker, settings.queues, settings.kind)
        except StoreUnavailable as error:
            _log.warning("the store is away", reason=str(error), worker=self.settings.worker)

    def _announce(self) -> None:
        pool = self.pools[self.settings.kind]
        if pool.warm == 0:
            self._announce_broken()
            return
        with pool.lend() as loan:
            properties = loan.ready()
            lane = devices.Lane(
                self.settings.worker,
                self.settings.queues,
                self.settings.kind,
                properties.name,
                properties.arch,
                loan.isolation,
            )
        with self.database.write() as session:
            devices.announce(session, lane)
        self._announced = True
        self._seen_at = time.monotonic()
        _log.info("lane is ready", worker=lane.worker, device=lane.name, queues=list(lane.queues))

    def _announce_broken(self) -> None:
        """Show a device that never came up to those who look for it; what it is nobody knows."""
        state, reason = self.health.state()
        if state == "ready" or time.monotonic() - self._seen_at < SEEN_S:
            return
        settings = self.settings
        lane = devices.Lane(settings.worker, settings.queues, settings.kind, settings.queues[-1], "", "none")
        with self.database.write() as session:
            devices.announce(session, lane)
            devices.seen(session, settings.worker, state, reason)
        self._seen_at = time.monotonic()
        _log.error("the device does not come up", worker=settings.worker, reason=reason)

    def say_seen(self, state: str, reason: str, *, judged: bool = False) -> None:
        self._seen_at = time.monotonic()
        try:
            with self.database.write() as session:
                devices.seen(session, self.settings.worker, state, reason, judged=judged)
        except StoreUnavailable:
            pass


def _targets(kind: Kind) -> list[Target]:
    """What a lane compiles for, as far as it matters to a box that waits for its source."""
    cpu = [Target("ptx", CPU_ARCH, "debug")]
    return cpu if kind == "cpu" else [*cpu, Target("cubin", "", "fast"), Target("cubin", "", "optimized")]


def read_settings(text: str) -> LaneSettings:
    values: dict[str, Any] = json.loads(text)
    return LaneSettings(**{**values, "queues": tuple(values["queues"])})


def main() -> None:
    imported()
    die_with_parent()
    settings = read_settings(os.environ.pop(SETTINGS_VARIABLE))
    configure_logs(sys.stderr)
    LaneProcess(settings).run()


if __name__ == "__main__":
    main()
