"""The CPU rows of the table of targets, measured on this machine: `python -m tests.bench.cpu_figures`.

Compile, translate (PTX to LLVM's text), JIT, first and second run of the two shapes of the book, on one and
two threads, with bounds checks alone and with every detector, each in a process of its own. The compiler's box
stands ready, as it does in a service; its start, which a run from the command line pays once, is a column of its own.
Then the whole `judge test` of every problem in a cold process. Each row stands beside its target. The
compile cache is an empty folder of its own.
"""

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from judge.backends.cpu.device import CpuDevice
from judge.backends.cpu.lowering.jit import Engine
from judge.catalogue import find_problems, load_problem
from judge.compiler import Target, WarmBoxes, compile_unit
from judge.examples import case_generator
from judge.pipeline import CPU_ARCH
from judge.problem import Case, Problem
from judge.submission.read import read_submission
from judge.submission.unit import build_unit
from judge.verification.package import planted_submissions
from judge.worker.execution import run_case
from judge.worker.requests import case_request

ROOT = Path(__file__).parent.parent.parent
SEED = 1


@dataclass(frozen=True)
class Shape:
    """A row of the table: the cases it runs, one after another, and its target in seconds."""

    what: str
    problem: str
    solution: str
    cases: tuple[str, ...]
    bounds_target_s: float
    target_s: float


SHAPES = (
    Shape(
        "flash forward, BH=8, N=1000, D=64, full and causal",
        "flash-forward",
        "plain.cu",
        ("book", "book-causal"),
        0.8,
        3.0,
    ),
    Shape(
        "paged decode, contexts 1, 17, 1000, 4096", "paged-decode", "scores_in_shared_memory.cu", ("book",), 1.0, 1.0
    ),
)
COLD_TARGET_S = 10.0


@dataclass
class Times:
    box_s: float = 0.0
    compile_s: float = 0.0
    load_s: float = 0.0
    jit_s: float = 0.0
    first_s: float = 0.0
    second_s: float = 0.0

    @property
    def total_s(self) -> float:
        """From source to outputs, once: what the target speaks of. Without box_s."""
        return self.compile_s + self.load_s + self.first_s


def measure(shape: Shape, threads: int, *, watch: bool) -> Times:
    problem = load_problem(shape.problem)
    path = problem.folder / "submissions" / "accepted" / shape.solution
    submission = read_submission(path.read_bytes(), path.name, problem)
    cases = [problem.case(name) for name in shape.cases]
    unit = build_unit(submission, problem, tuple(dict.fromkeys(problem.constants_of(case) for case in cases)))
    target = Target(kind="ptx", arch=CPU_ARCH, mode="debug")
    # What a process does once, such as the reading of headers, is no part of the target.
    compile_unit(replace(unit, source=unit.source + "\n__device__ int first;\n"), target)
    times = Times()
    began = time.perf_counter()
    with WarmBoxes([target]) as boxes:
        while not boxes.warm:
            time.sleep(0.001)
        times.box_s = time.perf_counter() - began
        began = time.perf_counter()
        compilation = boxes.compile(unit, target)
        times.compile_s = time.perf_counter() - began
    if not compilation.ok:
        raise SystemExit(compilation.log)
    device = CpuDevice(threads=threads, watch=watch)
    compile_text = Engine.compile

    def timed_compile(engine: Engine, text: str) -> int:
        started = time.perf_counter()
        try:
            return compile_text(engine, text)
        finally:
            times.jit_s += time.perf_counter() - started

    Engine.compile = timed_compile  # type: ignore[method-assign]
    began = time.perf_counter()
    device.load(compilation.image, unit.source)
    times.load_s = time.perf_counter() - began
    for case in cases:
        plan = next(plan for plan in unit.plans if plan.constants == problem.constants_of(case))
        inputs = _inputs(problem, case)
        request = case_request(problem, case, submission, plan, compilation.lowered, inputs)
        for attempt in ("first_s", "second_s"):
            began = time.perf_counter()
            result = run_case(device, request)
            setattr(times, attempt, getattr(times, attempt) + time.perf_counter() - began)
            if result.verdict is not None:
                raise SystemExit(f"{shape.what}: {result.verdict}: {result.message}")
    return times


def _inputs(problem: Problem, case: Case) -> dict[str, object]:
    return problem.generate(case, case_generator(case, SEED))  # type: ignore[return-value]


def shape_rows() -> Iterator[str]:
    yield (
        f"{'shape':<54} {'checks':<10} {'threads':>7} {'box':>7} {'NVRTC':>7} {'transl.':>7} {'JIT':>7} {'first':>7} "
        f"{'second':>7} {'total s':>8} {'target':>7}"
    )
    for shape in SHAPES:
        for watch, threads in ((False, 1), (False, 2), (True, 1), (True, 2)):
            with tempfile.TemporaryDirectory() as cache:
                os.environ["XDG_CACHE_HOME"] = cache
                # A fresh process: machine code that an earlier row made would be taken over.
                with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
                    times = fresh.submit(measure, shape, threads, watch=watch).result()
            target_s = shape.target_s if watch else shape.bounds_target_s
            mark = "" if times.total_s <= target_s else "  over"
            checks = "all" if watch else "bounds"
            yield (
                f"{shape.what:<54} {checks:<10} {threads:>7} {times.box_s:7.3f} {times.compile_s:7.3f} "
                f"{times.load_s - times.jit_s:7.3f} {times.jit_s:7.3f} {times.first_s:7.3f} {times.second_s:7.3f} "
                f"{times.total_s:8.3f} {target_s:7.1f}{mark}"
            )


def cold_rows() -> Iterator[str]:
    yield f"{'judge test, all CPU cases, cold process and cache':<54} {'seconds':>8} {'target':>7}  verdict"
    for problem_id in find_problems():
        for planted in planted_submissions(load_problem(problem_id).folder):
            if planted.folder != "accepted" or planted.expectation.gpu is not None:
                continue
            with tempfile.TemporaryDirectory() as cache:
                began = time.perf_counter()
                done = subprocess.run(
                    [
                        sys.executable,
                        str(ROOT / "practice" / "judge.py"),
                        "test",
                        str(planted.path),
                        "--backend",
                        "cpu",
                    ],
                    capture_output=True,
                    text=True,
                    env={**os.environ, "XDG_CACHE_HOME": cache, "NO_COLOR": "1"},
                    check=False,
                )
                seconds = time.perf_counter() - began
            mark = "" if seconds <= COLD_TARGET_S else "  over"
            verdict = "accepted" if done.returncode == 0 else f"exit code {done.returncode}"
            yield f"{problem_id + '/' + planted.path.name:<54} {seconds:8.2f} {COLD_TARGET_S:7.1f}  {verdict}{mark}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=("shapes", "cold", "all"), default="all")
    part = parser.parse_args().part
    for rows, name in ((shape_rows, "shapes"), (cold_rows, "cold")):
        if part in (name, "all"):
            for row in rows():
                print(row, flush=True)


if __name__ == "__main__":
    main()
