"""Counts the kernels behind the tables of docs/counters.md and writes the tables there.

    python scripts/counter_tables.py          write them
    python scripts/counter_tables.py --check  say whether they are as they should be; exit code 1 if not

Counts are exact and the inputs have fixed seeds, so a table changes only when the judge or a kernel does.
"""

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from judge.catalogue import load_problem  # noqa: E402
from judge.events import NullSink  # noqa: E402
from judge.examples import case_generator  # noqa: E402
from judge.problem import Case, Group, Problem  # noqa: E402
from judge.records import Counters  # noqa: E402
from judge.statistics import count_case, load_optimized  # noqa: E402
from judge.submission.read import read_submission  # noqa: E402
from judge.submission.unit import build_unit  # noqa: E402
from judge.tallies import extra_wavefronts, sectors_per_request, shared_pattern  # noqa: E402
from judge.worker.session import Session  # noqa: E402
from problems._families import dense, paged  # noqa: E402

PAGE = ROOT / "docs" / "counters.md"
SPECIMENS = ROOT / "scripts" / "specimens"
HEADS, KV_HEADS, HEAD_SIZE = 32, 8, 32
SIZES = (64, 128, 256, 512)


def submission_of(problem: str, path: str) -> bytes:
    return (ROOT / "problems" / problem / "submissions" / path).read_bytes()


def counts(problem: Problem, cases: Sequence[Case], source: bytes) -> list[Counters]:
    """Counters of each case, all launches together. The cases must have the same compile-time constants."""
    submission = read_submission(source, "kernel.cu", problem)
    unit = build_unit(submission, problem, (problem.constants_of(cases[0]),))
    found = []
    with Session("cpu") as session:
        lowered = load_optimized(session, unit, NullSink())
        for case in cases:
            inputs = problem.generate(case, case_generator(case, 0))
            found.append(count_case(session, problem, case, submission, unit, lowered, inputs)[1])
    return found


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose first column is text and whose others are figures."""
    lines = [titles, ["---", *["---:"] * (len(titles) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def dense_case(n: int, *, causal: bool = False) -> Case:
    return Case(f"n-{n}", Group.HIDDEN, dense.parameters(1, n, HEAD_SIZE, causal), time_limit_s=60.0)


def moved(counters: Counters) -> int:
    return counters.global_bytes_read + counters.global_bytes_written


def shared_heads() -> str:
    problem = load_problem("gqa-decode")
    contexts = (50, 64)
    parameters = paged.parameters(contexts, (HEADS, KV_HEADS), HEAD_SIZE)
    case = Case("group-of-four", Group.HIDDEN, parameters, extra={"contexts": contexts})
    rows = []
    for name, path in (
        ("one block a query head", "requirement_unmet/block_per_query_head.cu"),
        ("one block a KV head", "accepted/warps.cu"),
    ):
        [counters] = counts(problem, [case], submission_of(problem.id, path))
        k, v = counters.buffers["k_cache"], counters.buffers["v_cache"]
        read, distinct = k.bytes_read + v.bytes_read, k.unique_bytes_read + v.unique_bytes_read
        assert k.reads is not None
        sectors = sectors_per_request(k.reads) or 0.0
        rows.append([name, f"{read:,}", f"{distinct:,}", f"{read / distinct:.1f}x", f"{sectors:.2f}"])
    return table(["kernel", "K and V bytes read", "distinct", "times over", "sectors a read of K"], rows)


def causal_tiles() -> str:
    problem = load_problem("flash-forward")
    skipping = submission_of(problem.id, "accepted/plain.cu")
    computing = submission_of(problem.id, "requirement_unmet/tiles_above_the_diagonal.cu")
    full = [dense_case(n) for n in SIZES]
    masked = [dense_case(n, causal=True) for n in SIZES]
    both = [counters.flops for counters in counts(problem, [*full, *masked], skipping)]
    every = [counters.flops for counters in counts(problem, masked, computing)]
    rows = [
        [f"{n}", f"{whole:,}", f"{tiles:,}", f"{skipped:,}", f"{skipped / whole:.0%}"]
        for n, whole, tiles, skipped in zip(SIZES, both[: len(SIZES)], every, both[len(SIZES) :], strict=True)
    ]
    return table(["N", "no mask", "mask, every tile", "mask, tiles skipped", "of no mask"], rows)


def score_matrix() -> str:
    problem = load_problem("flash-forward")
    standard = (SPECIMENS / "standard_attention.cu").read_bytes()
    flash = submission_of(problem.id, "accepted/plain.cu")
    cases = [dense_case(n) for n in SIZES]
    rows = []
    for n, untiled, tiled in zip(SIZES, counts(problem, cases, standard), counts(problem, cases, flash), strict=True):
        scores = untiled.buffers["scores"]
        row = [scores.bytes_read + scores.bytes_written, moved(untiled), moved(tiled), moved(tiled) // -(-n // 64)]
        rows.append([f"{n}", *(f"{bytes_:,}" for bytes_ in row)])
    titles = ["N", "standard: score matrix", "standard: all", "flash: all", "flash: a pass of 64 queries"]
    return table(titles, rows)


def padded_tile() -> str:
    problem = load_problem("flash-forward")
    source = (SPECIMENS / "standard_attention.cu").read_bytes()
    rows = []
    for name, pad in (("D + 1 = 33 floats", b"1"), ("D = 32 floats", b"0")):
        [counters] = counts(problem, [dense_case(128)], source.replace(b"kPad = 1", b"kPad = " + pad))
        shared = shared_pattern(counters)
        extra = extra_wavefronts(shared) or 0.0
        rows.append([name, f"{shared.requests:,}", f"{shared.wavefronts:,}", f"{extra:.2f}"])
    return table(["a row of the tile takes", "shared requests", "wavefronts", "extra a request"], rows)


TABLES: dict[str, Callable[[], str]] = {
    "shared-heads": shared_heads,
    "causal-tiles": causal_tiles,
    "score-matrix": score_matrix,
    "padded-tile": padded_tile,
}


def place(text: str, name: str, content: str) -> str:
    """The page with the table between its two marks replaced. Raises ValueError where the marks are missing."""
    pattern = rf"(<!-- table: {name} -->\n).*?(<!-- end of table -->)"
    changed, found = re.subn(pattern, lambda match: match[1] + content + match[2], text, flags=re.DOTALL)
    if found != 1:
        raise ValueError(f"{PAGE} has {found} places for the table {name}; it needs one")
    return changed


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Write the tables of docs/counters.md.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 1 when a table is out of date")
    options = parser.parse_args(arguments)
    before = text = PAGE.read_text(encoding="utf-8")
    for name, make in TABLES.items():
        text = place(text, name, make())
    if options.check:
        sys.stdout.write("up to date\n" if text == before else "out of date: run scripts/counter_tables.py\n")
        return int(text != before)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
