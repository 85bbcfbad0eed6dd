"""The whole catalogue on this machine: an honest kernel, every row, the honest kernel again.

workers from a pool, compilations in a store of this run's own, several rows at a time
"""

import itertools
import math
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import judge
from judge.compiler.cache import DiskCache
from judge.gpu import gpu_count
from judge.redteam.exercise import HONEST
from judge.redteam.rows import Backend, Row
from judge.redteam.trial import Ground, Outcome, attempt
from judge.verdict import Verdict
from judge.worker.pool import Pool
from judge.worker.session import StartWorker
from judge.worker.supervisor import Worker

CANARY_VARIABLE = "JUDGE_SELFTEST_CANARY"
QUIET_S = 1.0
"""What the honest kernel takes on a quiet machine of two cores, cold compiler and warm worker."""

JOBS_A_POOL = 3
"""A pool starts one worker after the other, about one a second: more jobs want more pools."""

Told = Callable[[Outcome], None]

HONEST_ROW = Row(
    id="honest",
    tries="nothing: a right kernel is accepted",
    source=HONEST,
    expect=(Verdict.ACCEPTED,),
    cuda=(Verdict.ACCEPTED,),
    says=(),
    cuda_says=(),
    forbid=(),
    longest_s=60.0,
    time_limit_s=5.0,
    hurried=False,
)


@contextmanager
def ground() -> Iterator[Ground]:
    """A file with a secret word, a named pipe, a variable with the same word, and a store of compilations."""
    word = f"canary-{secrets.token_hex(12)}"
    folder = Path(tempfile.mkdtemp(prefix="judge-selftest-"))
    try:
        (folder / "canary.h").write_text(f"{word}\n")
        (folder / "canary.h").chmod(0o644)
        os.mkfifo(folder / "pipe.h")
        os.environ[CANARY_VARIABLE] = word
        checkout = str(Path(judge.__file__).resolve().parent.parent)
        hidden = [word, CANARY_VARIABLE, "root:x:0:0", checkout]
        yield Ground(str(folder / "canary.h"), str(folder / "pipe.h"), tuple(hidden), DiskCache(folder / "store"))
    finally:
        os.environ.pop(CANARY_VARIABLE, None)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def workers(backend: Backend, jobs: int) -> Iterator[Callable[[], StartWorker]]:
    """What gives each row a place: the pools in turn, which are those of every GPU of the machine."""
    ordinals = range(max(1, gpu_count())) if backend == "cuda" else range(1)
    count = max(len(ordinals), jobs // JOBS_A_POOL)
    with ExitStack() as stack:
        pools = [
            stack.enter_context(Pool(backend, -(-jobs // count), partial(Worker, backend, ordinal=ordinal)))
            for ordinal in itertools.islice(itertools.cycle(ordinals), count)
        ]
        turns = itertools.cycle(pools)

        def place() -> StartWorker:
            pool = next(turns)
            return lambda kind: pool.lend()

        yield place


def run_rows(
    rows: Sequence[Row], backend: Backend, jobs: int, told: Told, *, within_s: float = math.inf
) -> list[Outcome]:
    """Try every row; told of each as it ends. The honest kernel is the first and the last outcome.

    within_s: rows that did not begin within so long are left out.

    Raises MachineError when the machine cannot judge at all.
    """
    with ground() as here, workers(backend, jobs) as place, ThreadPoolExecutor(jobs) as threads:

        def one(row: Row, where: Ground) -> Outcome:
            outcome = attempt(row, backend, where, place())
            if outcome.late and len(outcome.faults) == 1:
                # Others may have had the machine for a while. What is slow by itself is slow again, uncached.
                outcome = attempt(row, backend, replace(where, cache=DiskCache(None)), place())
            told(outcome)
            return outcome

        first = one(HONEST_ROW, here)
        # The first one may have waited for a worker; this one has it warm and its compilation stored.
        tried = attempt(replace(HONEST_ROW, source=HONEST + b"//\n"), backend, here, place())
        slower = replace(here, slowness=max(1.0, jobs * tried.seconds / QUIET_S))
        end = time.monotonic() + within_s
        tried_rows = threads.map(lambda row: one(row, slower) if time.monotonic() < end else None, rows)
        ended = [outcome for outcome in tried_rows if outcome is not None]
        return [first, *ended, one(HONEST_ROW, slower)]
