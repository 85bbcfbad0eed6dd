"""Fuzz the CPU backend's JIT against the reference interpreter, and print what was tried and what differed.

    python tests/bench/fuzz_instructions.py --count 100000 --programs 2000 --seed 1 --jobs 2

Work is done in child processes, so that generated code that crashes is a finding and not the end.
Exit code 1 when anything differed or crashed.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from judge.backends.cpu.executor import JitExecutor
from tests.fuzz.campaign import Outcome, fuzz_forms, fuzz_program, minimal

FORMS_PER_KERNEL = 50
PROGRAMS_PER_TASK = 10


@dataclass(frozen=True)
class Task:
    kind: str
    seed: int
    size: int


@dataclass
class Report:
    outcome: Outcome = field(default_factory=Outcome)
    programs: int = 0
    messages: list[str] = field(default_factory=list)

    def add(self, other: "Report") -> None:
        self.outcome.add(other.outcome)
        self.programs += other.programs
        self.messages += other.messages


def work(task: Task) -> Report:
    """One task, in a child process."""
    report = Report()
    executor = JitExecutor()
    if task.kind == "forms":
        report.outcome = fuzz_forms(executor, task.size, task.seed)
        report.messages += [str(difference) for difference in report.outcome.differences]
        return report
    for seed in range(task.seed, task.seed + task.size):
        report.programs += 1
        difference = fuzz_program(executor, seed)
        if difference is not None:
            smallest = minimal(executor, difference)
            report.messages.append(f"{difference}; cut down:\n{smallest.text()}")
    return report


def tasks(arguments: argparse.Namespace) -> Iterator[Task]:
    base = arguments.seed * 1_000_000
    for number, start in enumerate(range(0, arguments.count, FORMS_PER_KERNEL)):
        yield Task("forms", base + number, min(FORMS_PER_KERNEL, arguments.count - start))
    for start in range(0, arguments.programs, PROGRAMS_PER_TASK):
        yield Task("programs", base + start, min(PROGRAMS_PER_TASK, arguments.programs - start))


def run_all(waiting: list[Task], jobs: int, report: Report) -> None:
    """Run tasks in a pool; after a crash every task that was in flight runs once more by itself."""
    while waiting:
        chunk, waiting = waiting[: 20 * jobs], waiting[20 * jobs :]
        unfinished = list(chunk)
        try:
            with ProcessPoolExecutor(jobs) as pool:
                futures = {pool.submit(work, task): task for task in chunk}
                for future in as_completed(futures):
                    report.add(future.result())
                    unfinished.remove(futures[future])
        except BrokenProcessPool:
            for task in unfinished:
                _run_alone(task, report)
        print(f"\r{report.outcome.forms} forms, {report.programs} programs", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


def _run_alone(task: Task, report: Report) -> None:
    try:
        with ProcessPoolExecutor(1) as pool:
            report.add(pool.submit(work, task).result())
    except BrokenProcessPool:
        report.messages.append(f"crash: {task.kind} of seed {task.seed}, size {task.size}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz the CPU backend's JIT against the reference interpreter.")
    parser.add_argument("--count", type=int, default=100_000, help="random instruction forms to try")
    parser.add_argument("--programs", type=int, default=0, help="random structured programs to try")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    arguments = parser.parse_args()
    start = time.monotonic()
    report = Report()
    run_all(list(tasks(arguments)), arguments.jobs, report)
    for message in report.messages:
        print(message)
    outcome = report.outcome
    for spelling in sorted(outcome.refused):
        print(f"not emulated, left out: {spelling}")
    print(
        f"{outcome.forms} forms ({len(outcome.spellings)} spellings) and {report.programs} programs tried "
        f"in {time.monotonic() - start:.0f} s: {len(report.messages)} differences"
    )
    return 1 if report.messages else 0


if __name__ == "__main__":
    sys.exit(main())
