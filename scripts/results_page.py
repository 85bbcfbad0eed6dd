"""Makes docs/results.md from gpu_figures.json: `python scripts/results_page.py JSON [PAGE]`. Figures are never typed.

The file is what scripts/gpu_bench.sh writes; device, driver, clocks and date are in it.
"""

import json
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs/results.md"

HEAD = """\
# Results of the model solutions

Made by `scripts/results_page.py` from what `scripts/gpu_bench.sh figures` wrote; do not edit. How each figure is
taken is in [timing.md](timing.md).
"""


def page(body: dict[str, Any]) -> str:
    """The whole page."""
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


def main(arguments: list[str]) -> int:
    if not arguments:
        sys.stderr.write("usage: results_page.py gpu_figures.json [PAGE]\n")
        return 2
    target = Path(arguments[1]) if len(arguments) > 1 else PAGE
    target.write_text(page(json.loads(Path(arguments[0]).read_text(encoding="utf-8"))), encoding="utf-8")
    sys.stdout.write(f"wrote {target}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
