"""Makes docs/guide.md and its pictures: the prose of problems/ID/ladder.md with the figures of docs/results.json.

A ladder.md begins with `picture: CASE`, the bench case that is drawn and compared. A paragraph on the whole follows,
then `## NAME` for every model solution in the order to read them, with a paragraph on each. What was measured is never
typed:

    {us NAME [CASE]}      median time          {share NAME [CASE]}   share of the roof
    {gbs NAME [CASE]}     GB/s                 {tflops NAME [CASE]}  TFLOP/s
    {times NAME OTHER [CASE]}                  how many times as fast NAME is as OTHER

CASE is that of the picture where it is left out. scripts/results_page.py calls this and writes the pages.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge.catalogue import find_problems, load_problem
from judge.problem import Group
from judge.records import Rates
from judge.reports.roofline import Picture, Point, draw_svg
from scripts.older_figures import MARK, MEANING, mark, marked

ROOT = Path(__file__).resolve().parents[1]
LADDER = "ladder.md"
UNKNOWN = "(not measured yet)"

HEAD = """\
# A guide to the ladders

Made by `scripts/results_page.py`; do not edit. The prose is in `problems/ID/ladder.md`, every figure in
[results.json](results.json). [results.md](results.md) has all of them, [timing.md](timing.md) says how they are taken,
and [ladders.md](ladders.md) what else was tried.

A kernel takes at least as long as its bytes take to be read and written, and at least as long as its operations take
to be done. In the pictures the roof is what both allow at each intensity (operations a byte): what the device, %s,
read and multiplied while the kernels were timed. A line leads from each model solution up to the roof: that is what is
left to gain. Bytes and operations are the least that the problem needs, so a kernel that moves more stands lower, not
further left.

Each ladder is to be read from its first rung. The head of a file says what it adds and what was measured, and of the
later ones what had been predicted.
"""

_PLACE = re.compile(r"\{(us|share|gbs|tflops|times) ([^{}]+)\}")


@dataclass(frozen=True)
class Rung:
    name: str
    text: str


@dataclass(frozen=True)
class Ladder:
    """What a ladder.md says. case: the bench case of the picture. intro and texts: Markdown with places for figures."""

    problem: str
    case: str
    intro: str
    rungs: tuple[Rung, ...]


def read_ladder_page(path: Path) -> Ladder:
    """Raises ValueError for a file that does not begin with `picture: CASE`."""
    first, _, rest = path.read_text(encoding="utf-8").partition("\n")
    label, _, case = first.partition(":")
    if label != "picture" or not case.strip():
        raise ValueError(f"{path}, line 1: begin with `picture: CASE`, the bench case to be drawn.")
    intro, *parts = re.split(r"^## ", rest, flags=re.M)
    rungs = [part.partition("\n") for part in parts]
    return Ladder(
        path.parent.name,
        case.strip(),
        intro.strip(),
        tuple(Rung(name.strip(), text.strip()) for name, _, text in rungs),
    )


class Figures:
    """The timed rows of docs/results.json by problem, solution and case."""

    def __init__(self, body: dict[str, Any]) -> None:
        self._rows = {(row["solution"], row["case"]): row for row in body["rows"]}

    def row(self, problem: str, name: str, case: str) -> dict[str, Any] | None:
        """A time that can be believed, or None."""
        row = self._rows.get((f"{problem}/{name}.cu", case))
        return None if row is None or row["refused"] else row

    def cell(self, problem: str, name: str, case: str) -> str:
        """What a table says of it."""
        row = self.row(problem, name, case)
        if row is None:
            return "not credible" if (f"{problem}/{name}.cu", case) in self._rows else "not timed"
        return _cell(row)

    def said(self, ladder: Ladder, text: str) -> str:
        """The text with its figures. Raises ValueError for a place that names no rung or no bench case."""
        names = {rung.name for rung in ladder.rungs}
        cases = bench_cases(ladder.problem)

        def figure(match: re.Match[str]) -> str:
            kind, words = match[1], match[2].split()
            count = 2 if kind == "times" else 1
            case = words[count] if len(words) > count else ladder.case
            wrong = [name for name in words[:count] if name not in names] + [case] * (case not in cases)
            if wrong or not count <= len(words) <= count + 1:
                raise ValueError(f"problems/{ladder.problem}/{LADDER}: {match[0]} names no rung or bench case.")
            rows = [self.row(ladder.problem, name, case) for name in words[:count]]
            return _worded(kind, [row for row in rows if row is not None]) if None not in rows else UNKNOWN

        return _PLACE.sub(figure, text)


def _worded(kind: str, rows: list[dict[str, Any]]) -> str:
    row = rows[0]
    if kind == "times":
        return f"{rows[1]['median_us'] / row['median_us']:.2f} times"
    if kind == "us":
        return _time(row["median_us"])
    if kind == "share":
        return UNKNOWN if row["roofline_fraction"] is None else f"{row['roofline_fraction']:.1%}"
    if kind == "gbs":
        return UNKNOWN if row["gbs"] is None else f"{row['gbs']:.0f} GB/s"
    return f"{row['tflops']:.1f} TFLOP/s"


def _time(us: float) -> str:
    return f"{us / 1e3:.1f} ms" if us >= 1e4 else f"{us:.0f} us" if us >= 1e3 else f"{us:.1f} us"


def bench_cases(problem: str) -> list[str]:
    return [case.name for case in load_problem(problem).cases if case.group is Group.BENCH]


def ladders() -> list[Ladder]:
    """Those of all problems that have one, in the order of the problems."""
    paths = [load_problem(problem).folder / LADDER for problem in find_problems()]
    return [read_ladder_page(path) for path in paths if path.is_file()]


def picture_of(ladder: Ladder, figures: Figures, device: str) -> Picture | None:
    """The rungs that were timed on the case of the picture, under the roof beside the fastest; None without any."""
    rows = [(rung.name, figures.row(ladder.problem, rung.name, ladder.case)) for rung in ladder.rungs]
    timed = [(name, row) for name, row in rows if row is not None and row.get("rates")]
    if not timed:
        return None
    fastest = min((row for _, row in timed), key=lambda row: float(row["median_us"]))
    points = tuple(
        Point(
            name,
            row["minimum_flops"] / row["minimum_bytes"],
            row["tflops"],
            row["median_us"],
            row["roofline_fraction"],
            "noisy" if row["noisy"] else "",
        )
        for name, row in timed
    )
    title = f"{ladder.problem}, {ladder.case}, {device}"
    return Picture(title, Rates.model_validate(fastest["rates"]), points, fastest.get("arithmetic", "f32"))


def _section(ladder: Ladder, figures: Figures, drawn: bool) -> list[str]:
    problem = load_problem(ladder.problem)
    folder = f"../problems/{ladder.problem}"
    lines = [
        "",
        f"## {problem.title}",
        "",
        figures.said(ladder, ladder.intro),
        "",
        f"[What is asked]({folder}/statement.md)",
    ]
    if drawn:
        lines += ["", f"![The rungs of {ladder.problem} under the roof](pages/roofline-{ladder.problem}.svg)"]
    cases = bench_cases(ladder.problem)
    lines += ["", f"| rung | {' | '.join(cases)} | beside the rung before |", f"|---|{'---:|' * (len(cases) + 1)}"]
    before, daggers = None, False
    for rung in ladder.rungs:
        rows = [figures.row(ladder.problem, rung.name, case) for case in cases]
        cells = [figures.cell(ladder.problem, rung.name, case) for case in cases]
        daggers |= any(row is not None and marked(row) for row in rows)
        now = figures.row(ladder.problem, rung.name, ladder.case)
        gain = "" if before is None or now is None else _gain(before, now)
        lines.append(f"| {rung.name} | {' | '.join(cells)} | {gain} |")
        before = now
    lines += ["", f"Times, and shares of the roof; the last column is of {ladder.case}."]
    if daggers:
        lines += ["", f"{MARK} {MEANING}.", "The text below has the same figures without the mark."]
    for rung in ladder.rungs:
        link = f"[{rung.name}.cu]({folder}/submissions/accepted/{rung.name}.cu)"
        lines += ["", f"**{link}**", figures.said(ladder, rung.text)]
    return lines


def _cell(row: dict[str, Any]) -> str:
    share = row["roofline_fraction"]
    return _time(row["median_us"]) + ("" if share is None else f", {share:.1%}") + mark(marked(row))


def _gain(before: dict[str, Any], now: dict[str, Any]) -> str:
    return f"{before['median_us'] / now['median_us']:.2f} times" + mark(marked(before) or marked(now))


def write_guide(body: dict[str, Any], docs: Path) -> list[Path]:
    """Writes guide.md and its pictures into `docs`; the paths written. Raises ValueError for a wrong ladder.md."""
    figures = Figures(body)
    gpus = body["environment"]["gpus"]
    device = gpus[0]["name"] if gpus else "the device"
    (docs / "pages").mkdir(exist_ok=True)
    written = [docs / "guide.md"]
    lines: list[str] = []
    for ladder in ladders():
        picture = picture_of(ladder, figures, device)
        if picture is not None:
            written.append(docs / "pages" / f"roofline-{ladder.problem}.svg")
            written[-1].write_text(draw_svg(picture), encoding="utf-8")
        lines += _section(ladder, figures, picture is not None)
    written[0].write_text(HEAD % device + "\n".join(lines) + "\n", encoding="utf-8")
    return written
