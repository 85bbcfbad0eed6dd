"""Adds measured figures to docs/results.json and makes the pages of it: `python scripts/results_page.py [JSON...]`.

    docs/results.json             every figure that a page shows, the latest of each case of each model solution
    docs/results.md               all of them as tables
    docs/guide.md                 the ladders as a story; its prose is problems/ID/ladder.md (scripts/guide_page.py)
    docs/pages/roofline-ID.svg    where the rungs of a problem stand under the roof

The files are what parts of scripts/gpu_bench.sh write: gpu_figures.json, and ladder.json and sdpa.json, of which the
model solutions are taken; trials of the timing, the batch over several GPUs and sdpa.json lie beside them. In what
order they are given, and how often, is the same: the date in them decides. Without a file the pages are made of what
is there. Solutions that are no longer in problems/ are left out. All figures belong to one device: --anew begins with
the given files alone. --docs FOLDER: there, instead of docs.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from judge.catalogue import find_problems, load_problem  # noqa: E402 - this script is run as a file
from scripts.guide_page import write_guide  # noqa: E402
from scripts.older_figures import MARK, MEANING, NOTE, mark, marked, older  # noqa: E402

Row = dict[str, Any]

STORE = "results.json"
TRIALS = {
    "repeat": "trial_repeat.json",
    "aa": "trial_aa.json",
    "slower": "trial_slower.json",
    "ncu": "trial_ncu.json",
    "batch": "gpu_batch.json",
    "sdpa": "sdpa.json",
}
"""Where each lies beside the figures."""

ADDED_UP = ("aa", "slower")
"""Trials whose runs count together; of the others the last row of the same thing does."""

SAME = ("problem", "case", "gpus", "shape", "dtype", "what")
"""What tells rows of a trial apart."""

COMPARED = ("shape", "dtype", "what", "median_us", "gbs", "tflops", "error", "ratio", "ratio_of")
BACKENDS = ("torch flash", "torch cudnn", "torch efficient", "torch math")

KEPT = (
    "problem", "solution", "case", "date", "median_us", "p10_us", "p90_us", "samples", "rel_ci95", "noisy",
    "limited_by", "refused", "verified_rows", "rows", "minimum_bytes", "minimum_flops", "arithmetic", "bound", "gbs",
    "tflops", "roofline_fraction", "tier", "rates",
)  # fmt: skip
"""What a page may show of a timed row."""

HEAD = """\
# Results of the model solutions

Made by `scripts/results_page.py` from what `scripts/gpu_bench.sh` wrote; do not edit. How each figure is
taken is in [timing.md](timing.md); what the solutions do to get there, in [the guide](guide.md).
"""


def page(body: dict[str, Any]) -> str:
    """The whole page of what docs/results.json holds."""
    told = body["environment"]
    gpu = told["gpus"][0] if told["gpus"] else {}
    parts = [HEAD, "| what | measured on |", "|---|---|"]
    parts += [
        f"| {words} | {value} |"
        for words, value in (
            ("device", gpu.get("name")),
            ("driver", gpu.get("driver_version")),
            ("SM clock, idle and most", f"{gpu.get('clocks.sm')}, {gpu.get('clocks.max.sm')}" if gpu else None),
            ("memory clock", gpu.get("clocks.mem")),
            ("power limit", gpu.get("power.limit")),
            ("CuPy, NVRTC", f"{told['cupy']}, {told['nvrtc']}"),
            ("dates", ", ".join(sorted({row["date"] for row in body["rows"]}))),
        )
        if value
    ]
    timed = body["rows"]
    for problem in dict.fromkeys(row["problem"] for row in timed):
        parts += ["", f"## {problem}", "", *_table([row for row in timed if row["problem"] == problem])]
    if any(row.get("rates") for row in timed):
        parts += ["", "## What the device did meanwhile", "", *_rates(timed)]
    trials = _latest(body["trials"])
    parts += _beside_torch(trials.get("sdpa", []))
    parts += _trials(trials)
    if body["untimed"]:
        parts += ["", "## Not timed", ""]
        parts += [f"- {row['solution']}: {row['verdict']}, {row['message']}" for row in body["untimed"]]
    return "\n".join(parts) + "\n"


def _table(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        "| solution | case | median us | +- | GB/s | TFLOP/s | bound by | roofline | tier | rows verified | |",
        "|---|---|---:|---:|---:|---:|---|---:|---|---:|---|",
    ]
    for row in rows:
        gbs = "" if row["gbs"] is None else f"{row['gbs']:.0f}"
        share = "" if row["roofline_fraction"] is None else f"{row['roofline_fraction']:.1%}"
        verified = f"{row['verified_rows'] / row['rows']:.1%}" if row["rows"] else ""
        flaws = ["noisy"] * row["noisy"] + list(row["limited_by"]) + (["not credible"] if row["refused"] else [])
        lines.append(
            f"| {row['solution'].partition('/')[2]} | {row['case']} | {row['median_us']:.2f}{mark(marked(row))} | "
            f"{row['rel_ci95']:.2%} | "
            f"{gbs} | {row['tflops']:.2f} | {row['bound'] or ''} | {share} | {row['tier'] or ''} | {verified} | "
            f"{', '.join(flaws)} |"
        )
    return lines + (["", NOTE] if any(map(marked, rows)) else [])


def _rates(rows: list[Row]) -> list[str]:
    lines = ["| what | lowest | highest |", "|---|---:|---:|"]
    for name, words in (
        ("read_gbs", "streaming read, GB/s"),
        ("copy_gbs", "copy, bytes read plus written, GB/s"),
        ("f32_tflops", "float32 multiply-adds, TFLOP/s"),
        ("f16_tflops", "float16 on tensor cores, TFLOP/s"),
        ("overhead_us", "an empty launch, us"),
    ):
        # The other rates are measured with every case; nobody asks for this one but a problem of float16 products.
        asked = [row for row in rows if name != "f16_tflops" or row.get("arithmetic") == "f16"]
        values = [row["rates"][name] for row in asked if row.get("rates")]
        if not values:
            continue
        lines.append(f"| {words} | {min(values):.1f} | {max(values):.1f} |")
    return lines


def _latest(taken: dict[str, dict[str, list[Row]]]) -> dict[str, list[Row]]:
    """Every row with its date. taken: of each trial the rows of each date."""
    trials: dict[str, list[Row]] = {}
    for name, runs in taken.items():
        rows = [{"date": date, **row} for date in sorted(runs) for row in runs[date]]
        last = {tuple(row.get(key) for key in SAME): row for row in rows}
        trials[name] = rows if name in ADDED_UP else list(last.values())
    return trials


def _beside_torch(rows: list[Row]) -> list[str]:
    """A row for each shape and type: ours, and PyTorch's backends as far as they have a kernel for it."""
    if not rows:
        return []
    shapes: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        who = row["what"] if row["what"].startswith("torch ") else "ours"
        shapes.setdefault((row["shape"], row["dtype"]), {})[who] = row
    lines = ["", "## Beside PyTorch's attention", ""]
    lines += [
        "Microseconds of the same work, each shape in one run, behind a cold L2 (`tests/bench/sdpa.py`); PyTorch",
        "decodes from contiguous caches, ours from pages. The last column is the time of PyTorch's fastest backend",
        "over ours, which says how many times as fast ours is; where only the types differ, in decoding, our GB/s in",
        "float32 over its GB/s.",
        "[ladders.md](ladders.md#beside-pytorch) says where ours is slower, and why.",
        "",
        "| shape | type | ours | flash | cuDNN | memory-efficient | math | times as fast as their fastest |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    before = {shape for (shape, _), found in shapes.items() if _reads(shape) and any(map(older, found.values()))}
    for (shape, dtype), found in shapes.items():
        times = [found.get(who, {}).get("median_us") for who in ("ours", *BACKENDS)]
        cells = ["" if time is None else f"{time:.1f}" for time in times]
        theirs = [found[who] for who in BACKENDS if found.get(who, {}).get("ratio") is not None]
        fastest = min(theirs, key=lambda row: row["median_us"], default=None)
        unit = "" if fastest is None or fastest["ratio_of"] == "time" else " (GB/s)"
        ratio = "" if fastest is None else f"{fastest['ratio']:.2f}{unit}"
        lines.append(f"| {shape}{mark(shape in before)} | {dtype} | {' | '.join(cells)} | {ratio} |")
    if before:
        lines += [
            "",
            f"{MARK} Ours, and so the last column, {MEANING}.",
            "PyTorch's times were always taken behind such loads.",
        ]
    return lines


def _reads(shape: str) -> bool:
    """Whether reading bounds a shape: that of decoding, as tests/bench/sdpa.py calls it."""
    return shape.startswith("decode ")


def _beside_ncu(rows: list[Row]) -> list[str]:
    """A row for each case that was timed here and by ncu."""
    if not rows:
        return []
    lines = ["", "### Beside ncu's kernel duration", ""]
    lines += [
        "ncu counts from the first block to the last; two events around a launch also see the launch itself. Each",
        "starts the kernel in a process of its own and empties the caches in its own way. So the two may differ by a",
        "few microseconds, which shows where a kernel is short.",
        "",
        "| problem | solution | case | judge us | ncu us | ratio | ratio less an empty launch |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    for row in rows:
        ours, theirs = row["ours_us"], row["ncu_us"]
        less = f"{(ours - row['empty_us']) / theirs:.3f} |" if "empty_us" in row else "|"
        lines.append(
            f"| {row['problem']} | {row.get('solution', '')} | {row['case']} | {ours:.2f}{mark(older(row))} | "
            f"{theirs:.2f} | {ours / theirs:.3f} | {less}"
        )
    if any(map(older, rows)):
        lines += ["", f"{MARK} {MEANING},", "where reading bounds the kernel. ncu's own time is of that run too."]
    return lines


def _trials(trials: dict[str, list[Row]]) -> list[str]:
    lines = _beside_ncu([row for row in trials.get("ncu", []) if "ncu_us" in row])
    if repeat := trials.get("repeat", []):
        lines += ["", "### The same kernel again, each time in a fresh worker", ""]
        lines += ["| problem | tries | lowest us | highest us | within 2% | within the interval |"]
        lines += ["|---|---:|---:|---:|---:|---:|"]
        lines += [
            f"| {row['problem']} | {row['tries']} | {min(row['medians_us']):.2f} | {max(row['medians_us']):.2f} | "
            f"{row['within_2_percent']} | {row['in_interval']} |"
            for row in repeat
        ]
    said = []
    if aa := trials.get("aa", []):
        false = sum(row["answer"] != "no difference" for row in aa)
        said.append(f"- A kernel against itself: {false} of {len(aa)} comparisons found a difference.")
    if slower := trials.get("slower", []):
        found = sum(row["answer"] == row["wanted"] for row in slower)
        said.append(f"- A kernel against one with 3% more work: found in {found} of {len(slower)} comparisons.")
    for row in trials.get("batch", []):
        cards = "1 GPU" if row["gpus"] == 1 else f"{row['gpus']} GPUs"
        said.append(f"- {row['submissions']} submissions on {cards}: {row['seconds']:.1f} s.")
    if said:
        lines += ["", "### Comparisons and batches", "", *said]
    return ["", "## Can the times be trusted", *lines] if lines else []


def added(store: dict[str, Any] | None, sources: Sequence[Path]) -> dict[str, Any]:
    """What docs/results.json is to hold. Raises ValueError for figures of different devices or drivers."""
    bodies = [] if store is None else [store]
    bodies += [json.loads(source.read_text(encoding="utf-8")) for source in sources]
    machines = {_machine(body["environment"]) for body in bodies}
    if len(machines) > 1:
        raise ValueError(
            f"figures of different devices cannot stand on one page: {'; '.join(sorted(machines))}. "
            "Give --anew to begin with these files alone."
        )
    rows = [row for body in bodies for row in map(_as_figure, _dated(body)) if row is not None]
    kept: dict[tuple[str, str], Row] = {}
    for row in sorted((row for row in rows if "median_us" in row), key=lambda row: str(row["date"])):
        if _still_there(row["solution"]):
            kept[row["solution"], row["case"]] = {name: row[name] for name in KEPT if name in row}
    timed = {row["solution"] for row in kept.values()}
    untimed = {row["solution"]: row for body in bodies for row in body.get("untimed", [])}
    untimed |= {row["solution"]: row for row in rows if "median_us" not in row}
    places = {name: place for place, name in enumerate(find_problems())}
    latest = max(bodies, key=lambda body: str(body["environment"]["date"]))["environment"]
    return {
        "environment": latest,
        "rows": [
            row
            for _, row in sorted(kept.items(), key=lambda item: (places.get(item[1]["problem"], len(places)), item[0]))
        ],
        "untimed": [
            {name: row[name] for name in ("solution", "verdict", "message")}
            for solution, row in sorted(untimed.items())
            if solution not in timed and _still_there(solution)
        ],
        "trials": _all_trials([] if store is None else [store["trials"]], sources),
    }


def _machine(environment: dict[str, Any]) -> str:
    return "; ".join(f"{gpu['name']}, driver {gpu['driver_version']}" for gpu in environment["gpus"][:1])


def _dated(body: dict[str, Any]) -> Iterable[Row]:
    # What was measured of ours beside PyTorch is as good as from the ladder.
    return ({"date": body["environment"]["date"], **row} for row in body.get("ours", body["rows"]))


def _still_there(solution: str) -> bool:
    problem, _, name = solution.partition("/")
    return (ROOT / "problems" / problem / "submissions/accepted" / name).exists()


def _as_figure(row: Row) -> Row | None:
    """A row of the ladder as one of the figures; None where it is no model solution or was not timed."""
    if "solution" in row:
        return row
    if "/submissions/accepted/" not in row.get("path", "") or "median_us" not in row:
        return None
    timed = load_problem(row["problem"]).timed
    share = row["roofline_fraction"]
    tier = timed.tiers.of(share) if timed is not None and timed.tiers is not None and share is not None else None
    return {**row, "solution": f"{row['problem']}/{row['file']}", "tier": tier}


def _all_trials(known: Sequence[dict[str, Any]], sources: Sequence[Path]) -> dict[str, dict[str, list[Row]]]:
    """Of each trial the rows of each date: those in the store, and those beside the files."""
    found: dict[str, dict[str, list[Row]]] = {name: {} for name in TRIALS}
    for trials in known:
        for name, runs in trials.items():
            found[name] |= runs
    for folder in dict.fromkeys(source.parent for source in sources):
        for name, file in TRIALS.items():
            path = folder / file
            if path.exists():
                body = json.loads(path.read_text(encoding="utf-8"))
                rows = body["rows"] if name != "sdpa" else [_compared(row) for row in body["rows"]]
                found[name][body["environment"]["date"]] = rows
    found["sdpa"] = _latest_of_each_shape(found["sdpa"])
    return found


def _latest_of_each_shape(runs: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """Of a shape that is compared with PyTorch the rows of its latest run alone: all of them are of one hour."""
    last = {row["shape"]: date for date in sorted(runs) for row in runs[date]}
    kept = {date: [row for row in rows if last[row["shape"]] == date] for date, rows in sorted(runs.items())}
    return {date: rows for date, rows in kept.items() if rows}


def _compared(row: Row) -> Row:
    return {name: row[name] for name in COMPARED if row.get(name) is not None}


def as_text(store: dict[str, Any]) -> str:
    """The store as JSON with a line for every row, so that a later run changes the lines of its rows."""
    parts = []
    for name, value in store.items():
        if isinstance(value, list):
            rows = ",\n".join(f"  {json.dumps(row)}" for row in value)
            parts.append(f'"{name}": [\n{rows}\n]' if value else f'"{name}": []')
        else:
            parts.append(f'"{name}": {json.dumps(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="results_page.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "sources", nargs="*", type=Path, metavar="JSON", help="gpu_figures.json, ladder.json, sdpa.json"
    )
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="where the pages and results.json are")
    parser.add_argument("--anew", action="store_true", help="forget the figures that are there")
    options = parser.parse_args(arguments)
    path = options.docs / STORE
    store = json.loads(path.read_text(encoding="utf-8")) if path.is_file() and not options.anew else None
    if store is None and not options.sources:
        parser.error(f"{path} holds no figures yet: name a file that has some")
    try:
        body = added(store, options.sources)
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    path.write_text(as_text(body), encoding="utf-8")
    (options.docs / "results.md").write_text(page(body), encoding="utf-8")
    written = write_guide(body, options.docs)
    sys.stdout.write(f"wrote {', '.join(str(one) for one in (path, options.docs / 'results.md', *written))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
