"""Batches on one GPU and on all: `python -m tests.bench.gpu_batch [--warm] [SUBMISSIONS]`.

Judges 40 submissions (model solutions and wrong ones, correctness cases and one bench case each) with the workers of
1 GPU, then of 2, 4, ... up to all that the machine has, and prints how long each took. --warm: instead, what judging
one splitk-merge submission takes from its bytes to its report on a warm pool, with a compiled module at hand,
less the time of its kernels. Writes gpu_batch.json or gpu_warm.json to $OUT where that is set.
"""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from judge.catalogue import load_problem
from judge.dispatch.lane import UNDISTURBED_S
from judge.events import NullSink
from judge.gpu import gpu_count
from judge.pipeline import judge_submission
from judge.problem import Group, Problem
from judge.selection import Options
from judge.timing.statistics import percentile
from judge.verification.package import planted_submissions
from judge.worker.fleet import Fleet
from tests.bench.gpu_environment import keep

SUBMISSIONS = 40
JOBS_FOR_EACH = 4
"""Submissions judged at the same time on one GPU."""

REFILL_S = 3.0
"""Between two submissions that are to find the pool warm: it starts two workers for those that were used."""

BENCH = {"splitk-merge": "bench-4096x32x8", "online-softmax": "bench-256x65536"}


@dataclass(frozen=True)
class Job:
    problem: Problem
    name: str
    data: bytes
    wanted: str


def jobs(count: int) -> list[Job]:
    """So many submissions of the two problems whose arrays are cheap to make: the GPU, not NumPy, is to be busy."""
    found = []
    for problem_id in BENCH:
        problem = load_problem(problem_id)
        for planted in planted_submissions(problem.folder):
            if planted.folder in {"accepted", "wrong_answer"}:
                found.append(Job(problem, planted.path.name, planted.path.read_bytes(), planted.folder))
    found.sort(key=lambda job: job.wanted)
    return [found[n % len(found)] for n in range(count)]


def run(job: Job, fleet: Fleet) -> str:
    correctness = [case.name for case in job.problem.cases if case.group is not Group.BENCH]
    options = Options(backend="cuda", cases=(*correctness, BENCH[job.problem.id]), seed=1)
    with fleet.place() as start:
        report = judge_submission(job.problem, job.data, job.name, options, NullSink(), start)
    return (
        "" if report.verdict.value == job.wanted else f"{job.problem.id}/{job.name}: {report.verdict} {report.message}"
    )


def batch(count: int) -> dict[str, Any]:
    chosen = jobs(count)
    sizes = [n for n in (1, 2, 4, 8, 16) if n <= gpu_count()]
    rows: list[dict[str, Any]] = []
    with Fleet(range(1)) as fleet:
        for job in {job.data: job for job in chosen}.values():
            run(job, fleet)  # compiles everything, so that the batches differ in GPUs alone
    for gpus in sizes:
        with Fleet(range(gpus), warm=JOBS_FOR_EACH) as fleet, ThreadPoolExecutor(gpus * JOBS_FOR_EACH) as threads:
            time.sleep(5)  # the pools fill
            began = time.monotonic()
            faults = [fault for fault in threads.map(lambda job: run(job, fleet), chosen) if fault]
            seconds = time.monotonic() - began
        rows.append({"gpus": gpus, "submissions": count, "seconds": seconds, "faults": faults})
        faster = rows[0]["seconds"] / seconds
        print(
            f"{gpus} GPU: {count} submissions in {seconds:.1f} s, {faster:.2f} times the first; faults {faults}",
            flush=True,
        )
    return {"rows": rows, "cores": os.cpu_count()}


def warm(count: int) -> dict[str, Any]:
    problem = load_problem("splitk-merge")
    source = (problem.folder / "submissions/accepted/plain.cu").read_bytes()
    correctness = tuple(case.name for case in problem.cases if case.group is not Group.BENCH)
    options = Options(backend="cuda", cases=correctness, seed=1)
    totals, overheads = [], []
    with Fleet(range(1), warm=4, undisturbed_s=UNDISTURBED_S) as fleet:
        time.sleep(10)
        for number in range(count + 1):
            began = time.monotonic()
            with fleet.place() as start:
                report = judge_submission(problem, source, "plain.cu", options, NullSink(), start)
            total = time.monotonic() - began
            if number:  # the first one compiles
                totals.append(total)
                overheads.append(total - sum(case.seconds for case in report.cases))
            time.sleep(REFILL_S)
    totals.sort()
    overheads.sort()
    row = {
        "submissions": count,
        "total_p50_s": percentile(totals, 0.5),
        "total_p95_s": percentile(totals, 0.95),
        "overhead_p50_s": percentile(overheads, 0.5),
        "overhead_p95_s": percentile(overheads, 0.95),
    }
    print(f"warm worker, cached module, {len(correctness)} cases twice: {row}")
    return row


def main(arguments: list[str]) -> int:
    numbers = [int(argument) for argument in arguments if argument.isdigit()]
    if "--warm" in arguments:
        keep("gpu_warm", warm(numbers[0] if numbers else 20))
    else:
        keep("gpu_batch", batch(numbers[0] if numbers else SUBMISSIONS))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
