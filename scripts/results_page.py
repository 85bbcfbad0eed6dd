"""Makes docs/results.md from files of figures: `python scripts/results_page.py JSON... [PAGE.md]`. Nothing is typed.

The files are what parts of scripts/gpu_bench.sh write: gpu_figures.json, and ladder.json, of which the model solutions
are taken. They belong to one device; where several have the same case of the same solution, the last one counts, and
solutions that are no longer there are left out. Device, driver, clocks and dates are in them. Trials of the timing and
the batch over several GPUs are taken from beside the files: comparisons of all runs together, else the last.
"""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from judge.catalogue import find_problems, load_problem  # noqa: E402 - this script is run as a file

PAGE = ROOT / "docs/results.md"

HEAD = """\
# Results of the model solutions

Made by `scripts/results_page.py` from what `scripts/gpu_bench.sh` wrote; do not edit. How each figure is
taken is in [timing.md](timing.md).
"""


def page(body: dict[str, Any], trials: dict[str, list[dict[str, Any]]] | None = None) -> str:
    """The whole page. trials: rows of repeat, aa, slower, ncu and batch, those that were taken."""
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
            ("date", told["date"]),
        )
        if value
    ]
    timed = [row for row in body["rows"] if "median_us" in row]
    for problem in dict.fromkeys(row["problem"] for row in timed):
        parts += ["", f"## {problem}", "", *_table([row for row in timed if row["problem"] == problem])]
    rates = [row["rates"] for row in timed if row.get("rates")]
    if rates:
        parts += ["", "## What the device did meanwhile", "", *_rates(rates)]
    parts += _trials(trials or {})
    untimed = [row for row in body["rows"] if "median_us" not in row]
    if untimed:
        parts += ["", "## Not timed", ""]
        parts += [f"- {row['solution']}: {row['verdict']}, {row['message']}" for row in untimed]
    if body.get("left_out"):
        parts += ["", f"Left out for want of time: {', '.join(body['left_out'])}."]
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
            f"| {row['solution'].partition('/')[2]} | {row['case']} | {row['median_us']:.2f} | {row['rel_ci95']:.2%} | "
            f"{gbs} | {row['tflops']:.2f} | {row['bound'] or ''} | {share} | {row['tier'] or ''} | {verified} | "
            f"{', '.join(flaws)} |"
        )
    return lines


def _rates(rates: list[dict[str, float]]) -> list[str]:
    lines = ["| what | lowest | highest |", "|---|---:|---:|"]
    for name, words in (
        ("read_gbs", "streaming read, GB/s"),
        ("copy_gbs", "copy, bytes read plus written, GB/s"),
        ("f32_tflops", "float32 multiply-adds, TFLOP/s"),
        ("f16_tflops", "float16 on tensor cores (mma.sync), TFLOP/s"),
        ("overhead_us", "an empty launch, us"),
    ):
        values = [one[name] for one in rates]
        lines.append(f"| {words} | {min(values):.1f} | {max(values):.1f} |")
    return lines


def _trials(trials: dict[str, list[dict[str, Any]]]) -> list[str]:
    lines: list[str] = []
    if ncu := [row for row in trials.get("ncu", []) if "ncu_us" in row]:
        lines += ["", "### Beside ncu's kernel duration", "", "| problem | case | judge us | ncu us | ratio |"]
        lines += ["|---|---|---:|---:|---:|"]
        lines += [
            f"| {row['problem']} | {row['case']} | {row['ours_us']:.2f} | {row['ncu_us']:.2f} | "
            f"{row['ours_us'] / row['ncu_us']:.3f} |"
            for row in ncu
        ]
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


def merged(bodies: list[dict[str, Any]]) -> dict[str, Any]:
    """One body of several, in order. Raises ValueError for files of different devices or drivers."""
    kept: dict[tuple[str, str], dict[str, Any]] = {}
    untimed: list[dict[str, Any]] = []
    for body in bodies:
        for row in map(_as_figure, body["rows"]):
            if row is not None and "median_us" in row and _still_there(row["solution"]):
                kept[row["solution"], row["case"]] = row
            elif row is not None and "median_us" not in row:
                untimed.append(row)
    machines = {
        json.dumps([(gpu["name"], gpu["driver_version"]) for gpu in b["environment"]["gpus"][:1]]) for b in bodies
    }
    if len(machines) > 1:
        raise ValueError(f"figures of different devices cannot stand on one page: {', '.join(sorted(machines))}")
    places = {name: place for place, name in enumerate(find_problems())}
    rows = sorted(
        kept.values(), key=lambda row: (places.get(row["problem"], len(places)), row["solution"], row["case"])
    )
    dates = sorted({body["environment"]["date"] for body in bodies})
    timed = {row["solution"] for row in rows}
    left = [name for name in bodies[-1].get("left_out", []) if name not in timed]
    environment = {**bodies[-1]["environment"], "date": ", ".join(dates)}
    return {"environment": environment, "rows": rows + untimed, "left_out": left}


def _still_there(solution: str) -> bool:
    problem, _, name = solution.partition("/")
    return (ROOT / "problems" / problem / "submissions/accepted" / name).exists()


def _as_figure(row: dict[str, Any]) -> dict[str, Any] | None:
    """A row of the ladder as one of the figures; None where it is no model solution or was not timed."""
    if "solution" in row:
        return row
    if "/submissions/accepted/" not in row.get("path", "") or "median_us" not in row:
        return None
    timed = load_problem(row["problem"]).timed
    share = row["roofline_fraction"]
    tier = timed.tiers.of(share) if timed is not None and timed.tiers is not None and share is not None else None
    return {**row, "solution": f"{row['problem']}/{row['file']}", "tier": tier}


def _trials_beside(sources: list[Path]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for folder in dict.fromkeys(source.parent for source in sources):
        for name in ("repeat", "aa", "slower", "ncu", "batch"):
            path = folder / ("gpu_batch.json" if name == "batch" else f"trial_{name}.json")
            if path.exists():
                rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
                found[name] = found.get(name, []) + rows if name in ("aa", "slower") else rows
    return found


def main(arguments: list[str]) -> int:
    sources = [Path(name) for name in arguments if name.endswith(".json")]
    pages = [Path(name) for name in arguments if not name.endswith(".json")]
    if not sources or len(pages) > 1:
        sys.stderr.write("usage: results_page.py JSON... [PAGE.md]\n")
        return 2
    try:
        body = merged([json.loads(source.read_text(encoding="utf-8")) for source in sources])
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    target = pages[0] if pages else PAGE
    target.write_text(page(body, _trials_beside(sources)), encoding="utf-8")
    sys.stdout.write(f"wrote {target}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
