"""Judges every planted submission on the GPU, several at a time, and says which verdicts are off.

Each is judged by its correctness cases only; times of several processes on one GPU mean nothing
(tests/bench/gpu_figures.py takes them, one at a time).
"""

import os
import time
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from judge.catalogue import find_problems, load_problem
from judge.errors import JudgeError
from judge.events import NullSink
from judge.pipeline import judge_submission
from judge.problem import Group
from judge.selection import Options
from judge.verification.package import PlantedSubmission, planted_submissions
from judge.verification.selfcheck import SEED, expectation_faults


@dataclass(frozen=True)
class Row:
    """One judged submission; faults is empty when its verdict is the planted one."""

    problem: str
    expected: str
    name: str
    verdict: str
    message: str
    seconds: float
    cases: int
    faults: tuple[str, ...]

    @property
    def line(self) -> str:
        mark = "ok  " if not self.faults else "FAIL"
        told = "; ".join(self.faults) or self.message
        place = f"{self.problem}/{self.expected}/{self.name}"
        return f"{mark} {place:<62} {self.verdict:<19} {self.seconds:6.2f} s {self.cases:3d} cases  {told[:150]}"


def all_submissions() -> list[tuple[str, PlantedSubmission]]:
    """Of every problem, or of those that GPU_PROBLEMS names (space between), as PROBLEM or PROBLEM/VERDICT."""
    wanted = os.environ.get("GPU_PROBLEMS", "").split() or find_problems()
    return [
        (problem_id, planted)
        for problem_id, _, folder in (name.partition("/") for name in wanted)
        for planted in planted_submissions(load_problem(problem_id).folder)
        if not folder or planted.folder == folder
    ]


def judge_one(problem_id: str, planted: PlantedSubmission) -> Row:
    """Judge one submission by its correctness cases on the GPU."""
    problem = load_problem(problem_id)
    cases = tuple(case.name for case in problem.cases if case.group is not Group.BENCH)
    options = Options(backend="cuda", cases=cases, seed=SEED)
    began = time.monotonic()
    name = planted.path.name
    try:
        report = judge_submission(problem, planted.path.read_bytes(), name, options, NullSink())
    except JudgeError as error:
        return Row(problem_id, planted.folder, name, "none", str(error), time.monotonic() - began, 0, (str(error),))
    faults = tuple(expectation_faults(report, planted, "cuda"))
    seconds = time.monotonic() - began
    return Row(
        problem_id, planted.folder, name, report.verdict.value, report.message, seconds, len(report.cases), faults
    )


def judge_all(jobs: int) -> list[Row]:
    """Every planted submission of every problem, in order."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = [(item, pool.submit(judge_one, *item)) for item in all_submissions()]
        rows = []
        for item, future in futures:
            rows.append(_row(*item, future))
            print(rows[-1].line, flush=True)
        return rows


def _row(problem_id: str, planted: PlantedSubmission, future: Future[Row]) -> Row:
    error = future.exception()
    if error is None:
        return future.result()
    fault = f"{type(error).__name__}: {error}"
    return Row(problem_id, planted.folder, planted.path.name, "none", fault, 0.0, 0, (fault,))
