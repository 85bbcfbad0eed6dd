"""What isolation costs and how well its limits hold: `python -m tests.bench.isolation_figures [OPTION]...`.

box overhead     start to ready and end, with bubblewrap and without, of the compiler and of a CPU worker
submit to result one small case of splitk-merge, workers cold and from a pool
limits           how far a process gets over its time and its memory before it is dead
hostile          N hostile submissions of the catalogue, then an honest one: verdicts, and what is left of them
"""

import argparse
import contextlib
import itertools
import math
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from judge.backends.base import ModuleImage
from judge.catalogue import load_problem
from judge.compiler.boxed import Box
from judge.compiler.target import Target
from judge.events import NullSink
from judge.pipeline import judge_submission
from judge.problem import Problem
from judge.redteam.rows import Backend, catalogue
from judge.redteam.selftest import HONEST_ROW, run_rows
from judge.redteam.trial import Outcome
from judge.sandbox import process
from judge.sandbox.bubblewrap import Absence, bubblewrap
from judge.sandbox.cgroup import find_controllers
from judge.sandbox.frames import PeerGone
from judge.sandbox.owners import own_prefix
from judge.sandbox.probing import _Conversation
from judge.sandbox.view import plain_view
from judge.selection import Options
from judge.verdict import Verdict
from judge.worker import supervisor
from judge.worker.messages import CaseRequest, LaunchSpec
from judge.worker.pool import Pool
from judge.worker.supervisor import WATCH_INTERVAL_S, Limits, Worker

ROOT = Path(__file__).resolve().parents[2]
STAND_IN = ROOT / "tests" / "behaviour" / "worker_stand_in.py"
SOLUTION = ROOT / "problems" / "splitk-merge" / "submissions" / "accepted" / "plain.cu"
CASE = "quarter"
TIME_LIMIT_S = 0.3
MEMORY_LIMIT_BYTES = 256 << 20


@contextlib.contextmanager
def without_bubblewrap() -> Iterator[None]:
    real = process.bubblewrap
    process.bubblewrap = lambda **_: Absence("switched off", "")  # type: ignore[assignment]
    try:
        yield
    finally:
        process.bubblewrap = real


def spread(times: list[float]) -> str:
    ordered = sorted(times)
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    return f"median {1e3 * statistics.median(ordered):7.1f} ms   p95 {1e3 * p95:7.1f} ms   of {len(ordered)}"


def compiler() -> None:
    with Box(Target("ptx", "compute_90", "debug")) as box:
        box.wait_until_sealed()


def worker() -> None:
    with Worker("cpu") as one:
        one.ready()


def bare() -> None:
    one = process.BoxedProcess([sys.executable, "-S", "-c", "pass"], plain_view(), {}, ())
    one.exit_code(60)
    one.end()
    one.stdout.close()


def timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def overhead(runs: int) -> None:
    for name, act in (("python -S -c pass", bare), ("compiler", compiler), ("CPU worker", worker)):
        act()
        boxed, plain = [], []
        # In turns, so that what else the machine does weighs on both alike.
        for _ in range(runs):
            boxed.append(timed(act))
            with without_bubblewrap():
                plain.append(timed(act))
        more = 1e3 * (statistics.median(boxed) - statistics.median(plain))
        print(f"{name:<18} boxed  {spread(boxed)}   overhead {more:+.1f} ms")
        print(f"{'':<18} plain  {spread(plain)}")


def small_problem() -> Problem:
    problem = load_problem("splitk-merge")
    cases = tuple(replace(case, time_limit_s=0.5) if case.name == CASE else case for case in problem.cases)
    return replace(problem, cases=cases)


def submit(problem: Problem, source: bytes, start: Callable[..., Worker] = Worker) -> str:
    options = Options(backend="cpu", cases=(CASE,), seed=1)
    return str(judge_submission(problem, source, "submission.cu", options, NullSink(), start).verdict)


def submissions(runs: int) -> None:
    problem, text = small_problem(), SOLUTION.read_bytes()
    assert submit(problem, text) == "accepted"

    def fresh(number: int) -> bytes:
        return text + f"// {time.time_ns()} {number}\n".encode()

    cold = [timed(lambda n=n: submit(problem, fresh(n))) for n in range(runs)]  # type: ignore[misc]
    print(f"{'submit to result':<18} cold   {spread(cold)}")
    with Pool("cpu", 2) as pool:
        warm, cached = [], []
        for number in range(runs):
            for source, times in ((fresh(number), warm), (text, cached)):
                while pool.warm < pool.size:
                    time.sleep(0.01)
                times.append(timed(lambda source=source: submit(problem, source, lambda _: pool.take())))  # type: ignore[misc]
    print(f"{'':<18} pooled {spread(warm)}   compiled anew each time")
    print(f"{'':<18} pooled {spread(cached)}   compiled before")


def time_overrun(runs: int) -> None:
    real = supervisor._command, supervisor._view
    supervisor._command = lambda kind, ordinal: [sys.executable, str(STAND_IN), "serving"]
    supervisor._view = lambda kind, ordinal: plain_view([ROOT / "tests"])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    launches = (LaunchSpec("spin", "spin", 1),)
    request = CaseRequest("spin", "", "plan", launches, (), (), {}, time_limit_s=TIME_LIMIT_S)
    try:
        over = []
        for _ in range(runs):
            with Worker("cpu", limits=Limits(grace_s=0.0)) as one:
                one.load(ModuleImage(b"module", "", {}))
                over.append(timed(lambda one=one: one.run_case(request)) - TIME_LIMIT_S)  # type: ignore[misc]
    finally:
        supervisor._command, supervisor._view = real
    over.sort()
    print(
        f"{'time limit':<18} over by median {1e3 * statistics.median(over):.0f} ms   "
        f"p99 {1e3 * over[min(len(over) - 1, int(0.99 * len(over)))]:.0f} ms   of {len(over)} x {TIME_LIMIT_S} s"
    )


def memory_overrun(runs: int) -> None:
    for way in ("malloc", "private", "shared"):
        over = []
        for _ in range(runs):
            with _Conversation("bare", way, plain_view()) as box, contextlib.suppress(PeerGone):
                box.ask({})
                looked = 0.0
                while True:
                    box.answer()
                    if time.monotonic() - looked < WATCH_INTERVAL_S:
                        continue
                    looked = time.monotonic()
                    resident = box.process.resident_bytes()
                    if resident > MEMORY_LIMIT_BYTES:
                        over.append(resident - MEMORY_LIMIT_BYTES)
                        break
        print(
            f"{'memory limit':<18} {way:<8} over by at most {max(over) / 2**20:.0f} MiB of {MEMORY_LIMIT_BYTES >> 20}"
        )


def left_overs() -> dict[str, int]:
    """Of this judge alone: others may be at work on the machine."""
    mine = own_prefix()
    groups = find_controllers()
    return {
        "processes": sum(mine.encode() in environment(entry) for entry in Path("/proc").glob("[0-9]*")),
        "zombies": len(zombies()),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "tmp": sum(1 for _ in Path("/tmp").glob(f"{mine}*")),
        "groups": sum(1 for _ in groups.memory.glob(f"{mine}*")) if groups else 0,
        **gpu_memory(),
    }


def gpu_memory() -> dict[str, int]:
    """Memory in use on each GPU, in MiB: of everybody, for nobody else is to be there."""
    try:
        import pynvml

        pynvml.nvmlInit()
    except (ImportError, OSError, pynvml.NVMLError):
        return {}
    handles = [pynvml.nvmlDeviceGetHandleByIndex(ordinal) for ordinal in range(pynvml.nvmlDeviceGetCount())]
    return {f"GPU {n} MiB": pynvml.nvmlDeviceGetMemoryInfo(handle).used >> 20 for n, handle in enumerate(handles)}


def environment(entry: Path) -> bytes:
    try:
        return (entry / "environ").read_bytes()
    except OSError:
        return b""


def zombies() -> list[str]:
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [child for child in children if (Path("/proc") / child / "stat").read_text().rpartition(")")[2][1] == "Z"]


def onslaught(count: int, jobs: int, backend: Backend, within_s: float) -> None:
    """The catalogue over and over. From its second round on a source is known to the store of compilations,
    as a resubmission is, unless it ended at a limit.
    """
    # What a GPU is told to time takes a minute each; tests/gpu has those.
    chosen = [row for row in catalogue() if backend == "cpu" or (row.cuda and not row.timed)]
    rows = list(itertools.islice(itertools.cycle(chosen), count))
    outcomes: list[Outcome] = []

    def told(outcome: Outcome) -> None:
        outcomes.append(outcome)
        if len(outcomes) % 100 == 0:
            print(f"    {len(outcomes)} after {time.monotonic() - began:.0f} s", flush=True)

    began = time.monotonic()
    run_rows(rows[:jobs], backend, jobs, told)
    before = left_overs()
    outcomes.clear()
    began = time.monotonic()
    run_rows(rows, backend, jobs, told, within_s=within_s)
    seconds = time.monotonic() - began
    after = left_overs()
    hostile = [outcome for outcome in outcomes if outcome.row.id != HONEST_ROW.id]
    honest = [outcome for outcome in outcomes if outcome.row.id == HONEST_ROW.id]
    print(f"\n{len(hostile)} hostile submissions in {seconds:.0f} s, {jobs} at a time; load {os.getloadavg()[0]:.1f}")
    print(f"    honest kernel before: {honest[0].verdict}, after: {honest[-1].verdict}")
    for verdict, times in Counter(str(outcome.verdict) for outcome in hostile).most_common():
        print(f"    {times:5}  {verdict}")
    accepted = [outcome for outcome in hostile if outcome.verdict is Verdict.ACCEPTED]
    forged = [outcome for outcome in accepted if Verdict.ACCEPTED not in outcome.row.right_on(backend)]
    print(f"    forged verdicts {len(forged)}, broken promises {sum(not outcome.ok for outcome in hostile)}")
    for outcome in hostile:
        for fault in outcome.faults:
            print(f"        {outcome.row.id}: {fault[:300]!r}")
    for name in before:
        print(f"    {name:<12} before {before[name]:6}   after {after[name]:6}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hostile", type=int, default=1000, metavar="N", help="hostile submissions (default 1000)")
    parser.add_argument("--runs", type=int, default=20, help="repeats of every other figure, 0 for none")
    parser.add_argument("--jobs", type=int, default=2, help="hostile submissions at a time (default 2)")
    parser.add_argument("--backend", choices=("cpu", "cuda"), default="cpu", help="where the hostile ones are judged")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no further hostile one after so many")
    options = parser.parse_args()
    found = bubblewrap()
    if isinstance(found, Absence):
        sys.exit(f"no box can be made here: {found.reason}. {found.fix}")
    print(f"bubblewrap started as {found.way}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    if options.runs:
        overhead(options.runs)
        submissions(options.runs)
        time_overrun(5 * options.runs)
        memory_overrun(3)
    if options.hostile:
        onslaught(options.hostile, options.jobs, options.backend, options.seconds)


if __name__ == "__main__":
    main()
