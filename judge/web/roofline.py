"""What timed cases reached, as pictures: the roofline of the device they ran on, and bandwidth by case.

Roofs are the rates that were measured beside the kernel in the same run, not those of a data sheet. Both axes of the
roofline are logarithmic; each dot carries the 95% interval of its median.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from judge.records import CaseReport, Rates, Report, Timing
from judge.verification.numbers import count_of
from judge.web import svg

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 30, 16, 44
ROW, BAR_LEFT, BAR_WIDTH = 28, 190, 380


@dataclass(frozen=True)
class _Dot:
    name: str
    intensity: float
    gflops: float
    low: float
    high: float


@dataclass(frozen=True)
class _Scale:
    """Powers of ten from low to high on so many pixels; a larger value is further along."""

    low: int
    high: int
    start: float
    length: float

    def at(self, value: float) -> float:
        share = (math.log10(max(value, 1e-30)) - self.low) / (self.high - self.low)
        return self.start + self.length * min(max(share, 0.0), 1.0)

    @property
    def powers(self) -> range:
        return range(self.low, self.high + 1)


def draw_roofline(report: Report) -> Markup | None:
    """Operations a second over operations a byte; None without a case that has both and a measured roof."""
    dots, rates, peak = [], None, 0.0
    for case in report.cases:
        dot = _dot(case)
        if dot is not None and case.timing is not None:
            rates = case.timing.rates or rates
            dots.append(dot)
            peak = rates.tflops(case.timing.arithmetic) * 1e3 if rates else peak
    if not dots or rates is None:
        return None
    ridge = peak / rates.read_gbs
    x = _scale([*(dot.intensity for dot in dots), ridge / 4, ridge * 4], LEFT, WIDTH - LEFT - RIGHT)
    y = _scale([*(dot.low for dot in dots), peak * 1.5], HEIGHT - BOTTOM, -(HEIGHT - TOP - BOTTOM))
    parts = [*_axes(x, y), *_roof(x, y, rates, peak)]
    for number, dot in enumerate(dots, start=1):
        at, up = x.at(dot.intensity), y.at(dot.gflops)
        words = f"{dot.name}: {dot.gflops:,.0f} GFLOP/s at {dot.intensity:.3g} operations a byte"
        parts.append(svg.tag("line", x1=at, x2=at, y1=y.at(dot.low), y2=y.at(dot.high), class_="interval"))
        parts.append(svg.tag("circle", svg.tag("title", words), cx=at, cy=up, r=5.0, class_="dot"))
        parts.append(svg.text(at + 8, up + 4, str(number), "small"))
    title = f"Roofline: {len(dots)} timed cases under {rates.read_gbs:,.0f} GB/s and {peak:,.0f} GFLOP/s, as measured. "
    return svg.picture(WIDTH, HEIGHT, title + "The table below has the figures.", parts)


def _dot(case: CaseReport) -> _Dot | None:
    timing = case.timing
    if timing is None or timing.refused or not timing.minimum_bytes or not timing.minimum_flops:
        return None
    gflops = timing.minimum_flops / (timing.median_us * 1e3)
    half = timing.rel_ci95
    return _Dot(
        case.name,
        timing.minimum_flops / timing.minimum_bytes,
        gflops,
        gflops / (1 + half),
        gflops / max(1 - half, 0.01),
    )


def _scale(values: Sequence[float], start: float, length: float) -> _Scale:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return _Scale(low, max(high, low + 1), start, length)


def _axes(x: _Scale, y: _Scale) -> list[Markup]:
    parts = []
    for power in x.powers:
        at = x.at(10.0**power)
        parts.append(svg.tag("line", x1=at, x2=at, y1=float(TOP), y2=float(HEIGHT - BOTTOM), class_="grid"))
        parts.append(svg.text(at, HEIGHT - BOTTOM + 16, f"{10.0**power:g}", "small", "middle"))
    for power in y.powers:
        up = y.at(10.0**power)
        parts.append(svg.tag("line", x1=float(LEFT), x2=float(WIDTH - RIGHT), y1=up, y2=up, class_="grid"))
        parts.append(svg.text(LEFT - 6, up + 4, f"{10.0**power:g}", "small", "end"))
    parts.append(svg.text((LEFT + WIDTH) / 2, HEIGHT - 8, "operations a byte", "small", "middle"))
    parts.append(svg.text(LEFT + 4, TOP + 10, "GFLOP/s", "small"))
    return parts


def _roof(x: _Scale, y: _Scale, rates: Rates, peak: float) -> list[Markup]:
    ridge = peak / rates.read_gbs
    # From the left edge, or from where the roof comes into the picture from below.
    first = max(10.0**x.low, 10.0**y.low / rates.read_gbs)
    points = [(first, first * rates.read_gbs), (ridge, peak), (10.0**x.high, peak)]
    shown = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b in points)
    return [
        svg.tag("polyline", points=shown, class_="roof"),
        svg.text(x.at(ridge) + 6, y.at(peak) - 6, f"{peak:,.0f} GFLOP/s", "small"),
        # Under the foot of the slope: dots lie higher up.
        svg.text(x.at(first) + 14, y.at(rates.read_gbs * first) + 12, f"{rates.read_gbs:,.0f} GB/s", "small"),
    ]


def draw_bandwidth(report: Report) -> Markup | None:
    """A bar for each timed case, its interval, and the measured streaming read; None where none is shown in GB/s."""
    timed = [(case, case.timing, case.bandwidth_gbs) for case in report.cases if case.timing and case.bandwidth_gbs]
    if not timed:
        return None
    roofs = [timing.rates.read_gbs for _, timing, _ in timed if timing.rates]
    most = max([gbs for _, _, gbs in timed] + roofs) * 1.05
    parts: list[str] = []
    for place, (case, timing, gbs) in enumerate(timed):
        parts += _bar(place, case.name, gbs, most, timing)
    some = count_of(len(timed), "timed case")
    title = f"Bandwidth of {some} in GB/s, with 95% intervals. The table below has the figures."
    return svg.picture(WIDTH, len(timed) * ROW + 10, title, parts)


def _bar(place: int, name: str, gbs: float, most: float, timing: Timing) -> list[Markup]:
    y, half = 6 + place * ROW, timing.rel_ci95
    low, high = (BAR_LEFT + BAR_WIDTH * gbs / (1 + part) / most for part in (half, -min(half, 0.99)))
    parts = [
        svg.text(BAR_LEFT - 8, y + 14, name, "small", "end"),
        svg.tag("rect", x=BAR_LEFT, y=y, width=BAR_WIDTH * gbs / most, height=ROW - 10, class_="bar"),
        svg.tag("line", x1=low, x2=high, y1=y + 9.0, y2=y + 9.0, class_="interval"),
        svg.text(BAR_LEFT + BAR_WIDTH * gbs / most + 8, y + 14, f"{gbs:,.0f}", "small"),
    ]
    if timing.rates:
        at = BAR_LEFT + BAR_WIDTH * timing.rates.read_gbs / most
        parts.append(svg.tag("line", x1=at, x2=at, y1=float(y - 3), y2=float(y + ROW - 7), class_="roof"))
    return parts
