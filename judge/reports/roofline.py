"""A picture of the roofline: what the device can do at each intensity, and where the kernel's cases stand.

    across: operations a byte (log)    up: TFLOP/s (log)    roof: min(bandwidth * intensity, rate)

Everything comes from a report, so that a picture can be drawn again without a GPU.
"""

import html
import math
from dataclasses import dataclass
from typing import Any

from judge.problem import Arithmetic
from judge.records import Rates, Report
from judge.reports.style import Style, inert, one_line

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ARITHMETIC: dict[Arithmetic, str] = {
    "f32": "float32 multiply-adds",
    "f16": "float16 products on tensor cores",
}
_TEXT_HEIGHT = 16
_SVG_WIDTH, _SVG_HEIGHT, _MARGIN = 760, 460, 64
_READ_LABEL = 110
"""Pixels that the words on the rate of reading take."""


@dataclass(frozen=True)
class Point:
    """One timed case. intensity: minimum operations a minimum byte. tflops: those operations over the median time."""

    case: str
    intensity: float
    tflops: float
    median_us: float
    fraction: float | None
    note: str


@dataclass(frozen=True)
class Picture:
    title: str
    rates: Rates
    points: tuple[Point, ...]
    arithmetic: Arithmetic = "f32"

    @property
    def peak(self) -> float:
        """TFLOP/s of the problem's arithmetic."""
        return self.rates.tflops(self.arithmetic)

    def roof(self, intensity: float) -> float:
        """TFLOP/s the device can reach at that intensity."""
        return min(self.rates.read_gbs * intensity / 1e3, self.peak)

    @property
    def ridge(self) -> float:
        """The intensity from which on reading is no longer what bounds."""
        return self.peak * 1e3 / self.rates.read_gbs

    @property
    def across(self) -> tuple[float, float]:
        """Exponents of ten that hold every point and the ridge."""
        values = [p.intensity for p in self.points] + [self.ridge]
        return math.floor(math.log10(min(values)) - 0.3), math.ceil(math.log10(max(values)) + 0.3)

    @property
    def up(self) -> tuple[float, float]:
        values = [p.tflops for p in self.points] + [self.roof(10 ** self.across[0]), self.peak]
        return math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)) + 0.1)

    def as_json(self) -> dict[str, Any]:
        return {
            "schema_version": 1,
            "title": self.title,
            "rates": self.rates.model_dump(mode="json"),
            "arithmetic": self.arithmetic,
            "points": [vars(point) for point in self.points],
        }


def picture_of(report: Report) -> Picture | None:
    """The picture of a report's timed cases; None where none has rates beside its time."""
    points = []
    rates: Rates | None = None
    arithmetic: Arithmetic = "f32"
    for case in report.cases:
        timing = case.timing
        if timing is None or timing.rates is None or not timing.minimum_bytes or not timing.minimum_flops:
            continue
        rates, arithmetic = timing.rates, timing.arithmetic
        note = "not credible" if timing.refused else "noisy" if timing.noisy else ""
        points.append(
            Point(
                case.name,
                timing.minimum_flops / timing.minimum_bytes,
                timing.minimum_flops / timing.median_us / 1e6,
                timing.median_us,
                case.roofline_fraction,
                "launch bound" if timing.bound == "launch" else note,
            )
        )
    if rates is None:
        return None
    title = f"{report.problem.id}, {report.submission.name}, {report.backend.device}"
    return Picture(title, rates, tuple(points), arithmetic)


def draw_text(picture: Picture, style: Style) -> str:
    """For a terminal: the roof as a line of characters, a letter a case, and what the letters mean."""
    width = max(30, style.width - 14)
    (left, right), (bottom, top) = picture.across, picture.up
    canvas = [[" "] * width for _ in range(_TEXT_HEIGHT)]

    def row_of(tflops: float) -> int:
        share = (math.log10(tflops) - bottom) / (top - bottom)
        return min(_TEXT_HEIGHT - 1, max(0, round((1 - share) * (_TEXT_HEIGHT - 1))))

    for column in range(width):
        intensity = 10 ** (left + (right - left) * column / (width - 1))
        canvas[row_of(picture.roof(intensity))][column] = "/" if intensity < picture.ridge else "-"
    for letter, point in zip(_LETTERS, picture.points, strict=False):
        column = round((math.log10(point.intensity) - left) / (right - left) * (width - 1))
        canvas[row_of(point.tflops)][min(width - 1, max(0, column))] = letter
    labels = {row_of(10.0**power): f"{10.0**power:g}" for power in range(int(bottom), int(top) + 1)}
    lines = [style.paint(style.wrap(inert(one_line(picture.title))), "bold"), "  TFLOP/s"]
    lines += [f"{labels.get(number, ''):>9} |{''.join(row).rstrip()}" for number, row in enumerate(canvas)]
    lines.append(f"{'':>9} +{'-' * width}")
    lines.append(_axis(left, right, width) + "  FLOP/byte")
    lines.append("")
    for letter, point in zip(_LETTERS, picture.points, strict=False):
        share = f"{point.fraction:.1%} of the roof" if point.fraction is not None else "no share"
        note = f" ({point.note})" if point.note else ""
        lines.append(
            f"  {letter}  {one_line(point.case)}: {point.median_us:.1f} us, {point.tflops:.3g} TFLOP/s, {share}{note}"
        )
    rates = picture.rates
    words = (
        f"Roof: {rates.read_gbs:.0f} GB/s of streaming reads up to {picture.ridge:.3g} FLOP/byte, then "
        f"{picture.peak:.1f} TFLOP/s of {_ARITHMETIC[picture.arithmetic]}, both measured beside the kernel."
    )
    return "\n".join(lines) + f"\n{style.paint(style.wrap(words), 'dim')}\n"


def _axis(left: float, right: float, width: int) -> str:
    text = [" "] * (width + 24)
    for power in range(int(left), int(right) + 1):
        place = 11 + round((power - left) / (right - left) * (width - 1))
        label = f"{10.0**power:g}"
        text[place : place + len(label)] = label
    return "".join(text).rstrip()


def draw_svg(picture: Picture) -> str:
    """A picture that stands alone: no script, no font, no link; readable in light and dark pages."""
    (left, right), (bottom, top) = picture.across, picture.up

    def x(intensity: float) -> float:
        return _MARGIN + (math.log10(intensity) - left) / (right - left) * (_SVG_WIDTH - 2 * _MARGIN)

    def y(tflops: float) -> float:
        share = (math.log10(tflops) - bottom) / (top - bottom)
        return _SVG_HEIGHT - _MARGIN - share * (_SVG_HEIGHT - 2 * _MARGIN)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SVG_WIDTH} {_SVG_HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="12" aria-label="{_escaped(f"Roofline of {picture.title}")}">',
        f"<title>{_escaped(f'Roofline of {picture.title}')}</title>",
        f'<rect width="{_SVG_WIDTH}" height="{_SVG_HEIGHT}" fill="#fff"/>',
        _label(_SVG_WIDTH / 2, 24, picture.title, "middle"),
    ]
    for power in range(int(left), int(right) + 1):
        at = x(10.0**power)
        parts.append(_line(at, _MARGIN, at, _SVG_HEIGHT - _MARGIN, "#ddd", 1))
        parts.append(_label(at, _SVG_HEIGHT - _MARGIN + 18, f"{10.0**power:g}", "middle"))
    for power in range(int(bottom), int(top) + 1):
        at = y(10.0**power)
        parts.append(_line(_MARGIN, at, _SVG_WIDTH - _MARGIN, at, "#ddd", 1))
        parts.append(_label(_MARGIN - 8, at + 4, f"{10.0**power:g}", "end"))
    ridge, low, high = picture.ridge, 10**left, 10**right
    parts.append(_line(x(low), y(picture.roof(low)), x(ridge), y(picture.peak), "#06c", 2.5))
    parts.append(_line(x(ridge), y(picture.peak), x(high), y(picture.peak), "#06c", 2.5))
    # Left of the line that rises to the right, and so far along it that the words do not reach out of the picture.
    words_x = min(max((x(low) + x(ridge)) / 2, x(low) + _READ_LABEL), x(ridge))
    along = low * (ridge / low) ** ((words_x - x(low)) / (x(ridge) - x(low)))
    read = f"{picture.rates.read_gbs:.0f} GB/s read"
    parts.append(_label(words_x - 6, y(picture.roof(along)) - 6, read, "end"))
    rate = f"{picture.peak:.1f} TFLOP/s of {_ARITHMETIC[picture.arithmetic]}"
    parts.append(_label(_SVG_WIDTH - _MARGIN, y(picture.peak) - 8, rate, "end"))
    labels = _label_places([(x(point.intensity), y(point.tflops)) for point in picture.points])
    for point, label_y in zip(picture.points, labels, strict=True):
        share = "" if point.fraction is None else f" {point.fraction:.0%}"
        px, py = x(point.intensity), y(point.tflops)
        # Bound by memory or not, the distance to the roof is what a reader looks for.
        parts.append(_line(px, py, px, y(picture.roof(point.intensity)), "#c60", 1))
        parts.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="5" fill="#c30"/>')
        side = "end" if px > _SVG_WIDTH / 2 else "start"
        words = point.case + share + (f" ({point.note})" if point.note else "")
        parts.append(_label(px + (-9 if side == "end" else 9), label_y, words, side))
    parts.append(_label(_SVG_WIDTH / 2, _SVG_HEIGHT - 16, "FLOP/byte (least of each)", "middle"))
    parts.append(_label(16, _MARGIN - 16, "TFLOP/s", "start"))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _label_places(points: list[tuple[float, float]]) -> list[float]:
    """For each point (x, y) the y of its label: below it, and below the labels of near points above it."""
    placed: dict[int, tuple[float, float]] = {}
    for number in sorted(range(len(points)), key=lambda number: points[number][1]):
        x, y = points[number][0], points[number][1] + 16
        while any(abs(x - other_x) < 160 and abs(y - other_y) < 14 for other_x, other_y in placed.values()):
            y += 2
        placed[number] = (x, y)
    return [placed[number][1] for number in range(len(points))]


def _line(x1: float, y1: float, x2: float, y2: float, color: str, width: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" stroke-width="{width:g}"/>'


def _label(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#222">{_escaped(text)}</text>'


def _escaped(text: str) -> str:
    return html.escape(one_line(text))
