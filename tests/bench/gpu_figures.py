"""Times every model solution on the GPU, one at a time: `python -m tests.bench.gpu_figures [PROBLEM...]`.

Prints one row a bench case: median, p10, p90, the interval of the median, clock, GB/s and share of the
roofline, and writes the same as text and JSON to $OUT where that is set; scripts/results_page.py makes
docs/results.md of the JSON. Goes on after a failure. BUDGET_S: begins no further solution after so many seconds.
"""

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from judge.catalogue import find_problems, load_problem
from judge.errors import JudgeError
from judge.events import NullSink
from judge.pipeline import judge_submission
from judge.problem import Case, Problem
from judge.selection import Options
from judge.verification.package import planted_submissions
from judge.verification.selfcheck import SEED
from tests.bench.gpu_environment import keep

HEAD = (
    f"{'problem/solution':<38} {'case':<24} {'verdict':<16} {'median us':>11} {'p10':>10} {'p90':>10} "
    f"{'ci95':>6} {'n':>5} {'MHz':>5} {'GB/s':>7} {'TFLOP/s':>8} "
    f"{'roof':>6} {'tier':>6} {'verified':>13} {'seconds':>8}"
)


def remembered(problem: Problem) -> Problem:
    """The problem with its arrays made once a case: the float64 truth of a bench case takes seconds."""
    known: dict[tuple[str, str], Any] = {}

    def once(what: str, make: Callable[[Case, Any], Any]) -> Callable[[Case, Any], Any]:
        def give(case: Case, argument: Any) -> Any:
            if (what, case.name) not in known:
                known[what, case.name] = make(case, argument)
            return known[what, case.name]

        return give

    return replace(
        problem,
        generate=once("inputs", problem.generate),
    )


def measure(problem: Problem, path: Path, name: str) -> list[dict[str, Any]]:
    """One row a bench case of a solution."""
    began = time.monotonic()
    try:
        report = judge_submission(
            problem, path.read_bytes(), path.name, Options(backend="cuda", group="bench", seed=SEED), NullSink()
        )
    except JudgeError as error:
        return [{"solution": name, "case": "-", "verdict": "none", "message": str(error)}]
    if not report.cases:
        return [{"solution": name, "case": "-", "verdict": report.verdict.value, "message": report.message}]
    rows = []
    for case in report.cases:
        row: dict[str, Any] = {
            "solution": name,
            "case": case.name,
            "verdict": case.verdict.value,
            "message": case.message,
            "problem": problem.id,
            "gbs": case.bandwidth_gbs,
            "roofline_fraction": case.roofline_fraction,
            "tier": case.tier,
            "compile_seconds": report.compile.seconds,
            "seconds": time.monotonic() - began,
        }
        if case.timing is not None:
            row |= case.timing.model_dump(mode="json")
            row["tflops"] = case.timing.minimum_flops / case.timing.median_us / 1e6
        rows.append(row)
    return rows


def line(row: dict[str, Any]) -> str:
    head = f"{row['solution']:<38} {row['case']:<24} {row['verdict']:<16}"
    if "median_us" not in row:
        return f"{head} {row['message']}"
    clock = row["clock_mhz"] or "-"
    gbs = "-" if row["gbs"] is None else f"{row['gbs']:.0f}"
    share = "-" if row["roofline_fraction"] is None else f"{row['roofline_fraction']:.1%}"
    verified = f"{row['verified_repeats']}/{row['samples']} {row['verified_rows'] / max(1, row['rows']):.0%}"
    return (
        f"{head} {row['median_us']:11.2f} {row['p10_us']:10.2f} {row['p90_us']:10.2f} {row['rel_ci95']:6.2%} "
        f"{row['samples']:5d} {clock:>5} {gbs:>7} {row['tflops']:8.2f} {share:>6} "
        f"{row['tier'] or '-':>6} {verified:>13} {row['seconds']:8.1f}"
        + (f" noisy: {'; '.join(row['noisy_because'])}" if row["noisy"] else "")
        + (f" {', '.join(row['limited_by'])}" if row["limited_by"] else "")
        + (f" {row['refused']}" if row["refused"] else "")
    )


def main(names: list[str]) -> int:
    rows: list[dict[str, Any]] = []
    end = time.monotonic() + float(os.environ.get("BUDGET_S", "inf"))
    left_out: list[str] = []
    print(HEAD)
    for problem_id in names or find_problems():
        problem = remembered(load_problem(problem_id))
        for planted in planted_submissions(problem.folder):
            if planted.folder != "accepted":
                continue
            if time.monotonic() > end:
                left_out.append(f"{problem_id}/{planted.path.name}")
                continue
            for row in measure(problem, planted.path, f"{problem_id}/{planted.path.name}"):
                print(line(row), flush=True)
                rows.append(row)
            keep("gpu_figures", {"rows": rows, "left_out": left_out})
    out = os.environ.get("OUT")
    if out:
        Path(out, "gpu_figures.txt").write_text("\n".join([HEAD, *map(line, rows)]) + "\n")
    bad = [row for row in rows if row["verdict"] != "accepted"]
    print(f"{len(rows) - len(bad)} of {len(rows)} rows accepted")
    if left_out:
        print(f"left out for want of time: {', '.join(left_out)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
