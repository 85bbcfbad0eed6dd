"""The whole catalogue on this machine: an honest kernel, every row, the honest kernel again.

workers from a pool, compilations in a store of this run's own, several rows at a time
"""

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import judge
from judge.compiler.cache import DiskCache
from judge.redteam.exercise import HONEST
from judge.redteam.rows import Row
from judge.redteam.trial import Backend, Ground, Outcome, attempt
from judge.verdict import Verdict
from judge.worker.pool import Pool

CANARY_VARIABLE = "JUDGE_SELFTEST_CANARY"
QUIET_S = 1.0
"""What the honest kernel takes on a quiet machine of two cores, cold compiler and warm worker."""

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


def run_rows(rows: Sequence[Row], backend: Backend, jobs: int, told: Told) -> list[Outcome]:
    """Try every row; told of each as it ends. The honest kernel is the first and the last outcome.

    Raises MachineError when the machine cannot judge at all.
    """
    with ground() as here, Pool(backend, jobs) as pool, ThreadPoolExecutor(jobs) as threads:

        def one(row: Row, where: Ground) -> Outcome:
            outcome = attempt(row, backend, where, lambda kind: pool.lend())
            if outcome.late and len(outcome.faults) == 1:
                # Others may have had the machine for a while. What is slow by itself is slow again, uncached.
                outcome = attempt(row, backend, replace(where, cache=DiskCache(None)), lambda kind: pool.lend())
            told(outcome)
            return outcome

        first = one(HONEST_ROW, here)
        # The first one may have waited for a worker; this one has it warm and its compilation stored.
        tried = attempt(replace(HONEST_ROW, source=HONEST + b"//\n"), backend, here, lambda kind: pool.lend())
        slower = replace(here, slowness=max(1.0, jobs * tried.seconds / QUIET_S))
        ended = list(threads.map(lambda row: one(row, slower), rows))
        return [first, *ended, one(HONEST_ROW, slower)]
