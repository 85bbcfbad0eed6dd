"""`judge stats` as text: launches, work, instructions, buffers and the worst lines, each with its advice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from judge.figures import LaunchStatistics, LineStatistics, Statistics
from judge.records import AccessPattern, BufferTraffic, Counters
from judge.reports.style import Style, inert
from judge.reports.tables import Column, render_table
from judge.tallies import active_lanes, extra_wavefronts, sectors_per_request, shared_pattern, total_instructions

MAX_LINES = 4
MIN_SHARE = 0.02
"""A line is shown when more than this share of all that is wasted comes from it."""

MIN_WASTE = 0.1
"""... and when it wastes more than this share of what it needs."""


@dataclass(frozen=True)
class _Traffic:
    """A row of the table of buffers. launch: empty where it is the only one."""

    launch: str
    name: str
    traffic: BufferTraffic


@dataclass(frozen=True)
class _Worst:
    """A row of the table of lines."""

    entry: LineStatistics
    what: str


@dataclass(frozen=True)
class _Waste:
    """What a line can waste: how much, of what it needs, and in words."""

    wasted: Callable[[LineStatistics], int]
    needed: Callable[[LineStatistics], int]
    words: Callable[[LineStatistics], str]


def _sector_words(entry: LineStatistics) -> str:
    figure, ideal = (count / entry.access.requests for count in (entry.access.sectors, entry.access.ideal_sectors))
    return f"{figure:.1f} sectors a request, {ideal:.1f} would do"


def _wavefront_words(entry: LineStatistics) -> str:
    figure, ideal = (
        count / entry.shared.requests for count in (entry.shared.wavefronts, entry.shared.ideal_wavefronts)
    )
    return f"{figure:.1f} wavefronts a request, {ideal:.1f} would do"


def _lane_words(entry: LineStatistics) -> str:
    parted = f", {compact(entry.parted_branches).strip()} branches parted" if entry.parted_branches else ""
    return f"{active_lanes(entry) or 0:.1f} of 32 lanes active{parted}"


_WASTES = (
    _Waste(lambda e: e.access.sectors - e.access.ideal_sectors, lambda e: e.access.ideal_sectors, _sector_words),
    _Waste(
        lambda e: e.shared.wavefronts - e.shared.ideal_wavefronts, lambda e: e.shared.ideal_wavefronts, _wavefront_words
    ),
    _Waste(lambda e: 32 * e.warp_instructions - e.thread_instructions, lambda e: e.thread_instructions, _lane_words),
)


def render_statistics(statistics: Statistics, style: Style) -> str:
    """The statistics as text with a final newline."""
    launches = statistics.launches
    parts = [
        _headline(statistics, style),
        _residency(statistics, style),
        _advice(statistics, "launches", style),
        _work(launches, style),
        _advice(statistics, "work", style),
        _instructions(launches, style),
        _buffers(statistics, style),
        _advice(statistics, "buffers", style),
        _worst_lines(statistics, style),
    ]
    return "\n".join(part for part in parts if part)


def _headline(statistics: Statistics, style: Style) -> str:
    title = style.paint("STATS", "bold")
    values = ", ".join(f"{name} {_scalar(value)}" for name, value in statistics.parameters.items())
    counters = statistics.counters
    moved = counters.global_bytes_read + counters.global_bytes_written
    least = (
        f"{compact(counters.flops)}FLOP done, {compact(statistics.minimum_flops)}FLOP needed; "
        f"{compact(moved)}B moved, {compact(statistics.minimum_bytes)}B needed"
    )
    lines = [
        f"{title}  {statistics.problem}  {inert(statistics.submission)}",
        style.wrap(f"Case {statistics.case}  ({values})", hang=2),
        style.wrap(f"{least}. Counted in optimized code on the CPU; occupancy is that of {statistics.arch}.", hang=2),
    ]
    return "\n".join(lines) + "\n"


def _residency(statistics: Statistics, style: Style) -> str:
    columns = [
        Column("launch", _name),
        Column("grid", lambda e: _triple(e.grid), right=True),
        Column("block", lambda e: _triple(e.block), right=True),
        Column("registers", lambda e: str(e.residency.registers) if e.residency else None, right=True),
        Column("shared", lambda e: f"{e.residency.shared_bytes} B" if e.residency else None, right=True),
        Column("spills", lambda e: f"{e.residency.spill_bytes} B" if e.residency else None, right=True),
        Column("blocks/SM", lambda e: str(e.residency.blocks) if e.residency else None, right=True),
        Column("occupancy", lambda e: f"{e.residency.occupancy:.0%}" if e.residency else None, right=True),
        Column("limited by", lambda e: ", ".join(e.residency.limited_by) if e.residency else None),
    ]
    return render_table(statistics.launches, columns, style)


def _work(launches: Sequence[LaunchStatistics], style: Style) -> str:
    def of(read: Callable[[Counters], str | None]) -> Callable[[LaunchStatistics], str | None]:
        return lambda entry: read(entry.counters)

    columns = [
        Column("launch", _name),
        Column("instructions", of(lambda c: compact(c.warp_instructions)), right=True),
        Column("FLOPs", of(lambda c: compact(c.flops)), right=True),
        Column("active lanes", of(lambda c: _figure(active_lanes(c), "/32")), right=True),
        Column("branches", of(lambda c: compact(c.branches)), right=True),
        Column("parted", of(lambda c: compact(c.parted_branches)), right=True),
        Column("barriers", of(lambda c: compact(c.barriers)), right=True),
        Column("shared requests", of(lambda c: compact(shared_pattern(c).requests)), right=True),
        Column("extra wavefronts", of(lambda c: _figure(extra_wavefronts(shared_pattern(c)), "", 2)), right=True),
    ]
    return render_table(launches, columns, style)


def _instructions(launches: Sequence[LaunchStatistics], style: Style) -> str:
    titles = {
        "memory": "memory",
        "floating_point": "float",
        "integer": "integer",
        "control": "control",
        "conversion": "conversion",
        "collective": "warp",
        "barrier": "barrier",
        "special": "special",
        "matrix": "matrix",
    }

    def share(name: str) -> Callable[[LaunchStatistics], str | None]:
        def cell(entry: LaunchStatistics) -> str | None:
            mix = entry.counters.instructions
            count = getattr(mix, name)
            return f"{count / total_instructions(mix):.1%}" if count else None

        return cell

    columns = [Column(title, share(name), right=True) for name, title in titles.items()]
    return render_table(launches, [Column("launch", _name), *columns], style)


def _buffers(statistics: Statistics, style: Style) -> str:
    several = len(statistics.launches) > 1
    rows = [
        _Traffic(inert(_name(launch)), name, traffic)
        for launch in (statistics.launches if several else ())
        for name, traffic in launch.counters.buffers.items()
        if traffic.bytes_read or traffic.bytes_written
    ]
    rows += [_Traffic("all" if several else "", name, traffic) for name, traffic in statistics.counters.buffers.items()]
    columns = [
        Column("launch", lambda e: e.launch),
        Column("buffer", lambda e: e.name),
        Column("read", lambda e: f"{compact(e.traffic.bytes_read)}B", right=True),
        Column("distinct", lambda e: f"{compact(e.traffic.unique_bytes_read)}B", right=True),
        Column("times over", lambda e: _figure(e.traffic.read_amplification, "x", 2), right=True),
        Column("written", lambda e: f"{compact(e.traffic.bytes_written)}B", right=True),
        Column("sectors/read", lambda e: _sectors(e.traffic.reads), right=True),
        Column("ideal", lambda e: _ideal(e.traffic.reads), right=True),
        Column("sectors/write", lambda e: _sectors(e.traffic.writes), right=True),
        Column("ideal", lambda e: _ideal(e.traffic.writes), right=True),
    ]
    return render_table(rows, columns, style)


def _sectors(pattern: AccessPattern | None) -> str | None:
    return _figure(sectors_per_request(pattern) if pattern else None, "", 2)


def _ideal(pattern: AccessPattern | None) -> str | None:
    return _figure(pattern.ideal_sectors / pattern.requests if pattern and pattern.requests else None, "", 2)


def _worst_lines(statistics: Statistics, style: Style) -> str:
    rows = []
    for kind in _WASTES:
        total = sum(kind.wasted(entry) for entry in statistics.lines)
        bad = [e for e in statistics.lines if kind.wasted(e) > max(MIN_SHARE * total, MIN_WASTE * kind.needed(e))]
        bad.sort(key=kind.wasted, reverse=True)
        rows += [_Worst(entry, kind.words(entry)) for entry in bad[:MAX_LINES]]
    columns = [
        Column("line", lambda w: str(w.entry.line), right=True),
        Column("what", lambda w: w.what),
        Column("source", lambda w: _cut(w.entry.source, style)),
    ]
    return render_table(rows, columns, style) if rows else ""


def _advice(statistics: Statistics, table: str, style: Style) -> str:
    lines = []
    for advice in statistics.advice:
        if advice.table != table:
            continue
        place = f" (line {advice.line})" if advice.line is not None else ""
        text = style.wrap(f"{inert(advice.subject)}{place}: {inert(advice.message)}", indent=4, hang=2)
        lines.append(style.paint(text, "yellow"))
    return "\n".join(lines) + "\n" if lines else ""


def _name(launch: LaunchStatistics) -> str:
    return launch.kernel


def _figure(value: float | None, unit: str, digits: int = 1) -> str | None:
    return None if value is None else f"{value:.{digits}f}{unit}"


def _triple(dim: tuple[int, int, int]) -> str:
    """grid (8, 1, 1) as 8, (8, 4, 1) as 8 x 4."""
    used = list(dim)
    while len(used) > 1 and used[-1] == 1:
        used.pop()
    return " x ".join(map(str, used))


def _scalar(value: int | float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}"


def _cut(text: str, style: Style) -> str:
    shown = inert(text)
    room = max(20, style.width - 60)
    return shown if len(shown) <= room else shown[: room - 3] + "..."


def compact(count: int) -> str:
    """Three digits and a unit prefix with a space before it: '12 ', '1.23 k', '67.6 M'."""
    value, prefix = float(count), ""
    for prefix in ("", "k", "M", "G", "T"):
        if value < 999.5 or prefix == "T":
            break
        value /= 1000
    digits = f"{count}" if not prefix else f"{value:.3g}" if value < 99.95 else f"{value:.0f}"
    return f"{digits} {prefix}"
