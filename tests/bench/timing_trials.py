"""Can the times be trusted? `python -m tests.bench.timing_trials [repeat] [aa] [slower] [ncu]`, all without a name.

repeat  the model solution of each problem timed in 20 workers, in turns with the others: do the medians agree
        within the stated interval and 2% of the middle one?
aa      20 comparisons of a kernel with itself: at most one may find a difference
slower  comparisons with a copy that does 3% more: each must find it
ncu     medians beside ncu's kernel duration (--clock-control none), where ncu is installed

Prints tables; writes trial_NAME.json to $OUT where that is set, as far as a trial has come. BUDGET_S: begins no
further one after it.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

from judge.catalogue import find_problems, load_problem
from judge.comparing import Contestant, compare_submissions
from judge.errors import JudgeError
from judge.events import NullSink
from judge.examples import case_generator
from judge.pipeline import judge_submission
from judge.problem import Case, Group, Problem
from judge.profiling import profile_submission
from judge.selection import Options
from judge.timing.statistics import median
from judge.tools import find_tool
from judge.verification.package import planted_submissions
from tests.bench.gpu_environment import keep
from tests.bench.gpu_figures import remembered

TRIES = 20
AGREE = 0.02
SLOWDOWN = 0.03
END = time.monotonic() + float(os.environ.get("BUDGET_S", "inf"))


def late() -> bool:
    return time.monotonic() > END


def models() -> list[tuple[Problem, Path, Case]]:
    """One model solution and the smallest bench case of each problem."""
    chosen = []
    for problem_id in os.environ.get("GPU_PROBLEMS", "").split() or find_problems():
        problem = remembered(load_problem(problem_id))
        path = next(p.path for p in planted_submissions(problem.folder) if p.folder == "accepted")
        cases = [case for case in problem.cases if case.group is Group.BENCH]
        sizes = {
            case.name: sum(a.nbytes for a in problem.generate(case, case_generator(case, 1)).values()) for case in cases
        }
        chosen.append((problem, path, min(cases, key=lambda case: sizes[case.name])))
    return chosen


def timed(problem: Problem, path: Path, case: Case) -> Any:
    options = Options(backend="cuda", cases=(case.name,), seed=1)
    report = judge_submission(problem, path.read_bytes(), path.name, options, NullSink())
    return report.cases[0].timing if report.cases else None


def repeat() -> list[dict[str, Any]]:
    chosen = models()
    seen: dict[str, list[Any]] = {problem.id: [] for problem, _, _ in chosen}
    for _ in range(TRIES):
        for problem, path, case in chosen:
            if not late():
                seen[problem.id].append(timed(problem, path, case))
    rows = []
    print(
        f"\n{'problem':<20} {'tries':>5} {'median us':>10} {'lowest':>10} {'highest':>10} "
        f"{'within 2%':>9} {'in interval':>11}"
    )
    for problem, path, case in chosen:
        timings = [t for t in seen[problem.id] if t is not None]
        if len(timings) < 2:
            continue
        medians = sorted(t.median_us for t in timings)
        middle = median(medians)
        near = sum(abs(t.median_us / middle - 1) <= AGREE for t in timings)
        # Both figures have an interval: two medians agree when theirs overlap.
        inside = sum(abs(t.median_us - middle) <= 2 * max(t.rel_ci95, 0.0025) * middle for t in timings)
        rows.append(
            {
                "problem": problem.id, "solution": path.name, "case": case.name, "tries": len(timings),
                "medians_us": [t.median_us for t in timings], "rel_ci95": [t.rel_ci95 for t in timings],
                "within_2_percent": near, "in_interval": inside, "noisy": sum(t.noisy for t in timings),
            }
        )  # fmt: skip
        print(
            f"{problem.id:<20} {len(timings):5d} {middle:10.2f} {medians[0]:10.2f} {medians[-1]:10.2f} "
            f"{near:9d} {inside:11d}"
        )
    return rows


def against(problem: Problem, a: bytes, b: bytes, case: Case, seed: int) -> Any:
    report = compare_submissions(
        problem, Contestant(a, "a.cu"), Contestant(b, "b.cu"), (case.name,), NullSink(), seed=seed, budget_s=1.5
    )
    return report.cases[0]


def aa() -> list[dict[str, Any]]:
    rows = []
    chosen = models()
    for number in range(TRIES):
        problem, path, case = chosen[number % len(chosen)]
        if late():
            break
        source = path.read_bytes()
        # Another comment makes another file, as a learner's copy would be; the code is the same.
        found = against(problem, source, source + b"\n// a copy\n", case, 1)
        rows.append({"problem": problem.id, **found.model_dump(mode="json")})
        keep("trial_aa", {"rows": rows})
        print(f"A/A {problem.id:<20} {told(found)}")
    false = sum(row["answer"] != "no difference" for row in rows)
    print(f"A/A: {false} of {len(rows)} found a difference that is none; at most 1 in 20 may")
    return rows


def three_percent_more(source: str) -> str:
    """The model of splitk-merge with a grid that covers 3% of the sequences twice: more of the same, nothing else.

    What the additional blocks read was read long before by others and has left the L2.
    """
    changes = (
        ("int S) {", "int S, int num_seqs) {"),
        ("static_cast<size_t>(blockIdx.y) * num_heads", "static_cast<size_t>(blockIdx.y % num_seqs) * num_heads"),
    )
    for old, new in changes:
        if old not in source:
            raise ValueError(f"the model of splitk-merge has no {old!r} any more")
        source = source.replace(old, new)
    grid = f"dim3(num_heads, num_seqs + (num_seqs * {round(100 * SLOWDOWN)} + 99) / 100), D"
    arguments = "o_part, m_part, l_part, out, num_heads, S, num_seqs"
    return f"// @launch splitk_merge<D><<<{grid}>>>({arguments})\n{source}"


def slower() -> list[dict[str, Any]]:
    rows = []
    problem = remembered(load_problem("splitk-merge"))
    source = (problem.folder / "submissions/accepted/plain.cu").read_text()
    slow = three_percent_more(source)
    case = problem.case("bench-256x64x32")
    for number in range(TRIES):
        if late():
            break
        first, second, wanted = (source, slow, "slower") if number % 2 == 0 else (slow, source, "faster")
        found = against(problem, first.encode(), second.encode(), case, 1)
        rows.append({"wanted": wanted, **found.model_dump(mode="json")})
        keep("trial_slower", {"rows": rows})
        print(f"3%  {wanted:<7} {told(found)}")
    found_all = sum(row["wanted"] == row["answer"] for row in rows)
    print(f"3% slower: found in {found_all} of {len(rows)}")
    return rows


def told(found: Any) -> str:
    return f"{found.answer:<14} {found.ratio:.4f} [{found.low:.4f}, {found.high:.4f}] {found.pairs} pairs"


def ncu() -> list[dict[str, Any]]:
    """Our median beside ncu's duration of the same case, its caches flushed and its clocks left alone.

    ncu counts from the first to the last block. Our events also see the launch, so beside the plain ratio stands
    the one less what an empty launch of the same run takes; an empty kernel has a duration of its own in ncu, so the
    truth lies between the two.
    """
    rows: list[dict[str, Any]] = []
    if find_tool("ncu") is None:
        print("ncu is not installed; its table is left out")
        return rows
    print(f"\n{'problem':<20} {'case':<24} {'ours us':>10} {'ncu us':>10} {'ours/ncu':>9} {'less empty':>10}")
    for problem, path, case in models():
        if late():
            break
        timing = timed(problem, path, case)
        try:
            found = profile_submission(problem, Contestant(path.read_bytes(), path.name), case, 1, quick=True)
        except JudgeError as error:
            print(f"{problem.id:<20} {case.name:<24} {error}")
            rows.append({"problem": problem.id, "case": case.name, "message": str(error)})
            continue
        theirs = sum(kernel.duration_us for kernel in found.kernels)
        launching = timing.rates.overhead_us * len(found.kernels)
        rows.append(
            {
                "problem": problem.id,
                "solution": path.name,
                "case": case.name,
                "ours_us": timing.median_us,
                "ncu_us": theirs,
                "empty_us": launching,
                "launches": len(found.kernels),
            }
        )
        keep("trial_ncu", {"rows": rows})
        print(
            f"{problem.id:<20} {case.name:<24} {timing.median_us:10.2f} {theirs:10.2f} "
            f"{timing.median_us / theirs:9.3f} {(timing.median_us - launching) / theirs:10.3f}"
        )
    return rows


TRIALS = {"repeat": repeat, "aa": aa, "slower": slower, "ncu": ncu}


def main(names: list[str]) -> int:
    for name in names or TRIALS:
        keep(f"trial_{name}", {"rows": TRIALS[name]()})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
