"""Our model solutions beside PyTorch's attention: `python -m tests.bench.sdpa [--only NAME]... [--ours WHAT]...`.

Runs torch.nn.functional.scaled_dot_product_attention with each of its backends (flash, cuDNN, memory-efficient, math)
on the shapes of our bench cases: dense attention in the problem's own type; decoding of equal contexts in float16,
bfloat16 and float32, from contiguous caches where ours reads pages. In decoding PyTorch gets the query heads of a KV
head as rows of one query, which needs no mask and lets every backend read the cache once.

A time of PyTorch is taken as ours is: a buffer is read that leaves nothing else in the L2 and hides what the host does
meanwhile, then CUDA events around the call. Shown are the median, the 10th and 90th percentile, and the error of 64
rows against float64 (norm of the difference over the norm). Ours run first, in the same run, on the same GPU, and are
verified; with a BUDGET_S they get at most half of it. `times as fast` is their time over ours; where only types differ,
in decoding, it compares GB/s.

Needs PyTorch with CUDA, which is no dependency of the judge. Writes sdpa.json to $OUT where that is set. BUDGET_S:
begins nothing new after so many seconds.
"""

import argparse
import importlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from judge.catalogue import find_problems, load_problem
from judge.errors import JudgeError
from judge.problem import Case, Group, Problem
from judge.timing.statistics import median, percentile
from tests.bench.gpu_environment import keep
from tests.bench.ladder import climb, rungs_of

SAMPLE_S = 0.5
FLUSH_BYTES = 1 << 30
CHECKED_ROWS = 64
LEAST, MOST, WARM_UPS = 6, 200, 3
TYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32"}
ITEM_BYTES = {"f16": 2, "bf16": 2, "f32": 4}
BACKENDS = {
    "flash": "FLASH_ATTENTION",
    "cudnn": "CUDNN_ATTENTION",
    "efficient": "EFFICIENT_ATTENTION",
    "math": "MATH",
}
LONG = ("1x131072", 1, 131072)
"""A decode shape whose only sequence is long; named, sequences, context."""

HEAD = (
    f"{'shape':<32} {'type':<5} {'what':<44} {'median us':>11} {'p10':>11} {'p90':>11} {'GB/s':>6} {'TFLOP/s':>8} "
    f"{'error':>8} {'times as fast':>13}"
)


@dataclass(frozen=True)
class Shape:
    """A call of SDPA: queries [batch, heads, rows, d] on keys and values [batch, heads, keys, d].

    ours: (problem, case) of the same work, where there is one.
    """

    name: str
    dtype: str
    batch: int
    heads: int
    rows: int
    keys: int
    d: int
    scale: float
    causal: bool = False
    ours: tuple[str, str] | None = None

    @property
    def bytes_(self) -> int:
        """Queries, keys, values and outputs once."""
        return ITEM_BYTES[self.dtype] * self.batch * self.heads * self.d * 2 * (self.rows + self.keys)

    @property
    def flops(self) -> int:
        """Two multiply-adds for each visible pair and dimension."""
        pairs = self.keys * (self.keys + 1) // 2 if self.causal else self.rows * self.keys
        return 4 * self.batch * self.heads * pairs * self.d

    @property
    def decodes(self) -> bool:
        return self.rows < self.keys


def type_of(problem: Problem) -> str:
    """The type that keys are stored in, which is what costs; empty where there are none."""
    return next((buffer.dtype for buffer in problem.buffers if buffer.name in {"K", "k_cache"}), "")


def dense_shape(problem: Problem, case: Case) -> Shape:
    p = case.parameters
    n = int(p["N"])
    return Shape(
        f"{problem.id} {case.name.removeprefix('bench-')}", type_of(problem), 1, int(p["BH"]), n, n,
        int(p["D"]), float(p["scale"]), bool(p["causal"]), (problem.id, case.name),
    )  # fmt: skip


def decode_shapes(name: str, case: Case, sequences: int, context: int, ours: dict[str, tuple[str, str]]) -> list[Shape]:
    """One shape for each type; ours: the problem and case of a type."""
    p = case.parameters
    kv_heads = int(p["num_kv_heads"])
    group = int(p["num_heads"]) // kv_heads
    d, scale = int(p["D"]), float(p["scale"])
    return [
        Shape(f"decode {name}", dtype, sequences, kv_heads, group, context, d, scale, False, ours.get(dtype))
        for dtype in TYPES
    ]


def shapes_of(problems: Sequence[Problem]) -> list[Shape]:
    """The shapes of all bench cases that PyTorch has a call for."""
    dense: list[Shape] = []
    decoding: dict[tuple[str, int, int], tuple[Case, dict[str, tuple[str, str]]]] = {}
    for problem in problems:
        if type_of(problem) not in TYPES:
            continue
        names = {buffer.name for buffer in problem.buffers}
        for case in problem.cases:
            if case.group is not Group.BENCH:
                continue
            if {"Q", "K", "V", "O"} <= names and {"BH", "N", "D", "scale", "causal"} <= set(case.parameters):
                dense.append(dense_shape(problem, case))
            contexts = set(case.extra.get("contexts", ()))
            if {"q", "k_cache", "v_cache"} <= names and len(contexts) == 1:
                (context,) = contexts
                sequences = len(case.extra["contexts"])
                _, known = decoding.setdefault((f"{sequences}x{context}", sequences, context), (case, {}))
                known.setdefault(type_of(problem), (problem.id, case.name))
    if decoding:
        decoding.setdefault(LONG, (next(iter(decoding.values()))[0], {}))
    return dense + [
        shape
        for (name, sequences, context), (case, ours) in decoding.items()
        for shape in decode_shapes(name, case, sequences, context, ours)
    ]


def load_torch() -> Any:
    """PyTorch with a CUDA device. Raises JudgeError where it, or the device, is missing."""
    try:
        torch = importlib.import_module("torch")
        importlib.import_module("torch.nn.attention")
    except ImportError as error:
        raise JudgeError(
            f"PyTorch is not installed here ({error}). It is no dependency of the judge: install a build for this "
            "GPU's driver into the same environment, then start this again."
        ) from error
    if not torch.cuda.is_available():
        raise JudgeError("PyTorch finds no CUDA device. A build for this driver and a GPU are needed.")
    return torch


class Stopwatch:
    """Times calls on PyTorch's current stream behind a cold L2."""

    def __init__(self, torch: Any, seconds: float) -> None:
        self.torch = torch
        self.seconds = seconds
        self.flush = torch.zeros(FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")

    def times_us(self, call: Callable[[], Any]) -> list[float]:
        torch = self.torch
        for _ in range(WARM_UPS):
            call()
        torch.cuda.synchronize()
        times: list[float] = []
        end = time.monotonic() + self.seconds
        while len(times) < MOST and (len(times) < LEAST or time.monotonic() < end):
            begin, finish = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            self.flush.max()
            begin.record()
            call()
            finish.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(finish) * 1e3)
        return times


def error_of(torch: Any, shape: Shape, q: Any, k: Any, v: Any, out: Any) -> float:
    """Norm of the error of the last rows of one head over the norm of those rows, in float64."""
    rows = min(CHECKED_ROWS, shape.rows)
    first = shape.rows - rows
    scores = q[0, 0, first:].double() @ k[0, 0].double().T * shape.scale
    if shape.causal:
        index = torch.arange(shape.keys, device="cuda")
        scores = scores.masked_fill(index[None, :] > index[first : first + rows, None], float("-inf"))
    want = torch.softmax(scores, dim=-1) @ v[0, 0].double()
    return float((out[0, 0, first:].double() - want).norm() / want.norm())


def time_torch(torch: Any, watch: Stopwatch, shape: Shape, spent: Callable[[], bool]) -> list[dict[str, Any]]:
    """A row for each backend; one that refuses the shape says so."""
    dtype = getattr(torch, TYPES[shape.dtype])
    torch.manual_seed(1)

    def drawn(rows: int) -> Any:
        return torch.randn(shape.batch, shape.heads, rows, shape.d, device="cuda", dtype=torch.float32).to(dtype)

    q, k, v = drawn(shape.rows), drawn(shape.keys), drawn(shape.keys)
    attention = torch.nn.functional.scaled_dot_product_attention
    rows = []
    for name, member in BACKENDS.items():
        what = f"torch {name}"
        backend = getattr(torch.nn.attention.SDPBackend, member, None)
        if backend is None or spent():
            rows.append(
                row_of(shape, what, [], message="left out for want of time" if backend else "not in this build")
            )
            continue

        def call() -> Any:
            return attention(q, k, v, is_causal=shape.causal, scale=shape.scale)

        try:
            with torch.nn.attention.sdpa_kernel([backend]):
                out = call()
                torch.cuda.synchronize()
                error = error_of(torch, shape, q, k, v, out)
                del out
                rows.append(row_of(shape, what, watch.times_us(call), error=error))
        except (RuntimeError, ValueError) as refusal:
            # Out of memory is a RuntimeError too. What a backend cannot do, it says in its first line.
            rows.append(row_of(shape, what, [], message=(str(refusal).strip() or "refused").splitlines()[0]))
        torch.cuda.empty_cache()
    return rows


def row_of(
    shape: Shape, what: str, times_us: Sequence[float], *, error: float | None = None, message: str = ""
) -> dict[str, Any]:
    row: dict[str, Any] = {"shape": shape.name, "dtype": shape.dtype, "what": what, "error": error, "message": message}
    if times_us:
        ordered = sorted(times_us)
        middle = median(ordered)
        row |= {
            "median_us": middle,
            "p10_us": percentile(ordered, 0.1),
            "p90_us": percentile(ordered, 0.9),
            "samples": len(ordered),
            "gbs": shape.bytes_ / middle / 1e3,
            "tflops": shape.flops / middle / 1e6,
        }
    return row


def our_row(shape: Shape, measured: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The fastest right solution of the shape's problem and case; None without one."""
    right = [
        row
        for row in measured
        if (row["problem"], row["case"]) == shape.ours and row["verdict"] == "accepted" and "median_us" in row
    ]
    if not right:
        return None
    best = min(right, key=lambda row: row["median_us"])
    chosen = {key: best[key] for key in ("median_us", "p10_us", "p90_us", "samples", "gbs", "tflops")}
    return {
        "shape": shape.name,
        "dtype": shape.dtype,
        "what": f"{best['problem']}/{best['file']}",
        "error": None,
        "message": "",
        **chosen,
    }


def with_ratios(rows: Sequence[dict[str, Any]], shapes: Sequence[Shape]) -> list[dict[str, Any]]:
    """The rows, PyTorch's with how many times as fast ours is.

    The time of the same shape and type where we have one; else, of a decoding, the bandwidth of ours in float32.
    """
    ours = {(row["shape"], row["dtype"]): row for row in rows if not row["what"].startswith("torch ")}
    decoding = {shape.name for shape in shapes if shape.decodes}
    result = []
    for row in rows:
        ratio, of = None, None
        if row["what"].startswith("torch ") and "median_us" in row:
            same = ours.get((row["shape"], row["dtype"]))
            other = ours.get((row["shape"], "f32")) if row["shape"] in decoding else None
            if same:
                ratio, of = row["median_us"] / same["median_us"], "time"
            elif other:
                ratio, of = other["gbs"] / row["gbs"], "GB/s of f32"
        result.append({**row, "ratio": ratio, "ratio_of": of})
    return result


def line(row: dict[str, Any]) -> str:
    head = f"{row['shape']:<32} {row['dtype']:<5} {row['what']:<44}"
    if "median_us" not in row:
        return f"{head} {row['message'][:90]}"
    error = "" if row["error"] is None else f"{row['error']:.1e}"
    ratio = "" if row.get("ratio") is None else f"{row['ratio']:.2f}" + ("" if row["ratio_of"] == "time" else " GB/s")
    return (
        f"{head} {row['median_us']:11.2f} {row['p10_us']:11.2f} {row['p90_us']:11.2f} {row['gbs']:6.0f} "
        f"{row['tflops']:8.2f} {error:>8} {ratio:>13}".rstrip()
    )


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.sdpa")
    parser.add_argument("--only", action="append", default=[], help="only shapes with this in their name")
    parser.add_argument(
        "--ours", action="append", default=[], metavar="WHAT", help="our kernels, as tests.bench.ladder takes them"
    )
    parser.add_argument("--seconds", type=float, default=SAMPLE_S, help="how long each is sampled")
    options = parser.parse_args(arguments)
    budget_s = float(os.environ.get("BUDGET_S", "inf"))
    end, ours_end = (time.monotonic() + share * budget_s for share in (1.0, 0.5))

    def spent() -> bool:
        return time.monotonic() > end

    shapes = [
        shape
        for shape in shapes_of([load_problem(problem_id) for problem_id in find_problems()])
        if not options.only or any(name in shape.name for name in options.only)
    ]
    rows: list[dict[str, Any]] = []
    try:
        torch = load_torch()
        wanted = {shape.ours for shape in shapes if shape.ours}
        owners = list(dict.fromkeys(problem_id for problem_id, _ in sorted(wanted)))
        measured: list[dict[str, Any]] = []
        for owner in owners:
            rungs = [rung for rung in rungs_of(options.ours or [owner]) if rung.problem.id == owner]
            cases = [case for problem_id, case in wanted if problem_id == owner]
            measured += climb(rungs, cases, options.seconds, max(0.0, ours_end - time.monotonic()))
        watch = Stopwatch(torch, options.seconds)
        print(HEAD)
        for shape in shapes:
            ours = our_row(shape, measured)
            fresh = ([ours] if ours else []) + time_torch(torch, watch, shape, spent)
            for row in fresh:
                print(line(row), flush=True)
            rows += fresh
            keep("sdpa", {"torch": torch.__version__, "rows": with_ratios(rows, shapes), "ours": measured})
    except JudgeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("\n" + "\n".join([HEAD, *map(line, with_ratios(rows, shapes))]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
