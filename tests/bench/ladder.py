"""Times many kernels side by side: `python -m tests.bench.ladder [--case NAME]... [--seconds S] WHAT...`.

WHAT is a problem's id (its model solutions), a .cu file, or a folder of them; a file names its problem in its
`// problem: ID` line. Bench cases are all of a problem's or, with --case, those whose name contains NAME. Each kernel
samples a case for S seconds (0.3) behind a cold L2, and its outputs are verified as `judge bench` does. Everything is
compiled first, several files at a time; a case's inputs are made once for all kernels.

Prints a row as it comes and one table in the end, fastest first in each case; writes ladder.json to $OUT where that is
set, anew after every row. BUDGET_S: begins no further row after so many seconds.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge.backends.base import DeviceFault, ModuleImage
from judge.benchwork import run_on_gpu, timing_request, verified, worth
from judge.catalogue import find_problems, load_problem
from judge.compiler import Compilation, Target, compile_unit
from judge.errors import JudgeError, UsageError
from judge.events import NullSink
from judge.examples import case_generator
from judge.problem import Array, Case, Group, Problem
from judge.submission.model import Submission
from judge.submission.read import read_submission
from judge.submission.unit import TranslationUnit, build_unit
from judge.verdict import Verdict
from judge.verification.package import planted_submissions
from judge.verification.selfcheck import SEED
from judge.worker.requests import case_request
from judge.worker.session import Session, StartWorker
from judge.worker.supervisor import Worker
from tests.bench.gpu_environment import keep

SAMPLE_S = 0.3
HEAD = (
    f"{'problem':<18} {'file':<44} {'case':<24} {'median us':>10} {'p10':>10} {'p90':>10} {'n':>4} "
    f"{'GB/s':>6} {'TFLOP/s':>8} {'bound':<8} {'roof':>6}"
)


@dataclass(frozen=True)
class Rung:
    """A kernel of a problem. name: how it is called in the table."""

    problem: Problem
    path: Path
    name: str


@dataclass(frozen=True)
class Ready:
    """A rung that compiled, for the constants of the cases that are timed."""

    rung: Rung
    submission: Submission
    unit: TranslationUnit
    compilation: Compilation

    @property
    def image(self) -> ModuleImage:
        return ModuleImage(self.compilation.image, self.unit.source, self.compilation.lowered)


def problem_of(path: Path) -> str:
    """The id in a file's `// problem: ID` line. Raises UsageError where it has none, or none that is known."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("// problem:"):
            name = line.partition(":")[2].strip()
            if name not in find_problems():
                raise UsageError(f"{path}: there is no problem {name!r}. Problems: {', '.join(find_problems())}.")
            return name
    raise UsageError(f"{path} does not say whose it is. Begin it with `// problem: ID`.")


def files_of(what: str) -> list[Path]:
    """The kernels that an argument names. Raises UsageError where it names none."""
    if what in find_problems():
        planted = planted_submissions(load_problem(what).folder)
        return [one.path for one in planted if one.folder == "accepted"]
    path = Path(what)
    found = sorted(path.glob("*.cu")) if path.is_dir() else [path] if path.is_file() else []
    if not found:
        raise UsageError(f"{what!r} is no problem, no .cu file and no folder of them.")
    return found


def rungs_of(whats: Sequence[str]) -> list[Rung]:
    """The kernels of all arguments, each once, problem by problem in the order they are named."""
    paths = dict.fromkeys(path for what in whats for path in files_of(what))
    problems: dict[str, Problem] = {}
    rungs = []
    for path in paths:
        problem_id = problem_of(path)
        problem = problems.setdefault(problem_id, load_problem(problem_id))
        rungs.append(Rung(problem, path, path.name))
    order = list(problems)
    return sorted(rungs, key=lambda rung: order.index(rung.problem.id))


def cases_of(problem: Problem, wanted: Sequence[str]) -> list[Case]:
    """The bench cases whose names contain one of `wanted`; all where nothing is wanted."""
    cases = [case for case in problem.cases if case.group is Group.BENCH]
    return [case for case in cases if not wanted or any(name in case.name for name in wanted)]


def prepare(rung: Rung, cases: Sequence[Case], arch: str) -> Ready | dict[str, Any]:
    """The compiled kernel, or the row that says why there is none."""
    try:
        submission = read_submission(rung.path.read_bytes(), rung.path.name, rung.problem)
        constants = tuple(dict.fromkeys(rung.problem.constants_of(case) for case in cases))
        unit = build_unit(submission, rung.problem, constants)
        compilation = compile_unit(unit, Target("cubin", arch, "optimized"))
    except JudgeError as error:
        return failed(rung, "-", Verdict.COMPILE_ERROR, str(error))
    if not compilation.ok:
        return failed(rung, "-", Verdict.COMPILE_ERROR, compilation.log.strip() or "the compiler gave no reason")
    return Ready(rung, submission, unit, compilation)


def failed(rung: Rung, case: str, verdict: Verdict, message: str) -> dict[str, Any]:
    return {
        "problem": rung.problem.id,
        "file": rung.name,
        "path": str(rung.path),
        "case": case,
        "verdict": verdict.value,
        "message": message,
    }


def measure(ready: Ready, case: Case, inputs: dict[str, Array], session: Session, seconds: float) -> dict[str, Any]:
    """The row of a kernel and a case."""
    rung, problem = ready.rung, ready.rung.problem
    constants = problem.constants_of(case)
    plan = next(plan for plan in ready.unit.plans if plan.constants == constants)
    try:
        session.load(ready.image)
        timing = timing_request(problem, case, session.properties().arch, seconds)
        request = case_request(problem, case, ready.submission, plan, ready.compilation.lowered, inputs, timing=timing)
        result = run_on_gpu(session, request, NullSink())
    except (DeviceFault, JudgeError) as error:
        return failed(rung, case.name, Verdict.RUNTIME_ERROR, str(error))
    verdict, message = result.verdict, result.message
    checked = verified(problem, case, inputs, result, timing.key) if verdict is None else None
    if checked is not None:
        judgement, result = checked
        verdict, message = judgement.verdict, judgement.message
    if verdict is None or result.timing is None:
        return failed(rung, case.name, verdict or Verdict.JUDGE_ERROR, message or "no time came back")
    figures = worth(problem, case, inputs, result)
    assert figures.timing is not None
    row = failed(rung, case.name, verdict, message or "")
    row |= figures.timing.model_dump(mode="json")
    row |= {
        "gbs": figures.timing.minimum_bytes / figures.timing.median_us / 1e3,
        "tflops": figures.timing.minimum_flops / figures.timing.median_us / 1e6,
        "roofline_fraction": figures.fraction,
        "kernels": [kernel.model_dump(mode="json") for kernel in ready.compilation.kernels],
    }
    return row


def line(row: dict[str, Any]) -> str:
    head = f"{row['problem']:<18} {row['file']:<44} {row['case']:<24}"
    if "median_us" not in row:
        return f"{head} {row['verdict']}: {row['message'].splitlines()[0] if row['message'] else ''}"
    share = "-" if row["roofline_fraction"] is None else f"{row['roofline_fraction']:.1%}"
    notes = [] if row["verdict"] == Verdict.ACCEPTED else [f"{row['verdict']}: {row['message']}"]
    notes += ["noisy"] if row["noisy"] else []
    notes += [row["refused"]] if row["refused"] else []
    return (
        f"{head} {row['median_us']:10.2f} {row['p10_us']:10.2f} {row['p90_us']:10.2f} {row['samples']:4d} "
        f"{row['gbs']:6.0f} {row['tflops']:8.2f} {row['bound'] or '-':<8} {share:>6} {'; '.join(notes)}".rstrip()
    )


def table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """All rows, fastest first within each case; what has no time, or is not right, comes last."""
    places: dict[tuple[str, str], int] = {}
    for row in rows:
        places.setdefault((row["problem"], row["case"]), len(places))

    def rank(row: dict[str, Any]) -> tuple[int, bool, float]:
        right = row["verdict"] == Verdict.ACCEPTED and not row.get("refused")
        return places[row["problem"], row["case"]], not right, row.get("median_us", float("inf"))

    return [HEAD, *map(line, sorted(rows, key=rank))]


def climb(
    rungs: Sequence[Rung], wanted: Sequence[str], seconds: float, budget_s: float, start: StartWorker = Worker
) -> Iterator[dict[str, Any]]:
    """A row for every kernel and case, until the budget is spent. Raises MachineError without a GPU."""
    end = time.monotonic() + budget_s
    by_problem: dict[str, list[Rung]] = {}
    for rung in rungs:
        by_problem.setdefault(rung.problem.id, []).append(rung)
    with Session("cuda", start=start) as session, ThreadPoolExecutor(os.cpu_count() or 2) as threads:
        arch = session.properties().arch
        asked = {
            problem_id: [threads.submit(prepare, rung, cases_of(rung.problem, wanted), arch) for rung in some]
            for problem_id, some in by_problem.items()
            if cases_of(some[0].problem, wanted)
        }
        prepared = {problem_id: [future.result() for future in futures] for problem_id, futures in asked.items()}
        for some in prepared.values():
            yield from (one for one in some if isinstance(one, dict))
        for problem_id, some in prepared.items():
            ready = [one for one in some if isinstance(one, Ready)]
            for case in cases_of(by_problem[problem_id][0].problem, wanted) if ready else []:
                inputs = None
                for one in ready:
                    if time.monotonic() > end:
                        yield failed(one.rung, case.name, Verdict.NOT_RUN, "left out for want of time")
                        continue
                    if inputs is None:
                        inputs = dict(one.rung.problem.generate(case, case_generator(case, SEED)))
                    yield measure(one, case, inputs, session, seconds)


def read_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.ladder", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("what", nargs="+", metavar="WHAT", help="a problem's id, a .cu file, or a folder of them")
    parser.add_argument("--case", action="append", default=[], help="only bench cases with this in their name")
    parser.add_argument("--seconds", type=float, default=SAMPLE_S, help="how long a kernel samples a case")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    options = read_arguments(arguments)
    budget_s = float(os.environ.get("BUDGET_S", "inf"))
    rows: list[dict[str, Any]] = []
    try:
        print(HEAD)
        for row in climb(rungs_of(options.what), options.case, options.seconds, budget_s):
            print(line(row), flush=True)
            rows.append(row)
            keep("ladder", {"rows": rows})
    except JudgeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("\n" + "\n".join(table(rows)))
    return 0 if rows and all(row["verdict"] in {"accepted", "not_run"} for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
