"""What stands under the table of cases when some were timed: how the figures were taken and what they are worth."""

from collections.abc import Sequence

from judge.records import CaseReport, Rates, Timing
from judge.reports.style import Style, inert, one_line


def timing_section(cases: Sequence[CaseReport], style: Style) -> str:
    """A line for each figure that needs words, then how all were measured; empty where nothing was timed."""
    timed = [(case, case.timing) for case in cases if case.timing is not None]
    if not timed:
        return ""
    lines = [style.wrap(f"{one_line(case.name)}: {inert(words)}", hang=2) for case, t in timed for words in remarks(t)]
    lines.append(style.paint(style.wrap(_how(timed[-1][1]), hang=2), "dim"))
    rates = timed[-1][1].rates
    if rates is not None:
        lines.append(style.paint(style.wrap(rates_line(rates), hang=2), "dim"))
    return "\n".join(lines) + "\n"


def remarks(timing: Timing) -> list[str]:
    """What a reader has to know of one figure, a sentence each."""
    told = []
    if timing.refused:
        told.append(timing.refused)
    if timing.bound == "launch":
        told.append("launching takes as long as the work, so only the time is shown, no GB/s and no share of the roof")
    if timing.noisy:
        told.append(f"noisy: {'; '.join(timing.noisy_because) or 'the interval of the median stayed wide'}")
    if timing.limited_by:
        told.append(f"the driver held the clocks down ({', '.join(timing.limited_by)})")
    if timing.rows and timing.verified_rows < timing.rows:
        told.append(
            f"verified {timing.verified_rows} of {timing.rows} output rows of the last repeat, drawn at random "
            f"({timing.verified_rows / timing.rows:.1%}), and 16 rows each of {timing.verified_repeats - 1} others"
        )
    return told


def _how(timing: Timing) -> str:
    parts = ["Times are medians of all launches of a case, L2 cold"]
    if timing.fresh_data:
        parts.append("other numbers in every repeat")
    if timing.verified_repeats:
        parts.append(f"outputs of {timing.verified_repeats} of {timing.samples} repeats verified")
    state = [
        f"SM clock {timing.clock_mhz} MHz" if timing.clock_mhz is not None else "",
        f"{timing.temperature_c} C" if timing.temperature_c is not None else "",
        f"{timing.power_w:.0f} W" if timing.power_w is not None else "",
    ]
    return ", ".join([*parts, *(one for one in state if one)]) + "."


def rates_line(rates: Rates) -> str:
    """What the device did at best in the same minute."""
    return (
        f"This GPU meanwhile: reads {rates.read_gbs:.0f} GB/s, copies {rates.copy_gbs:.0f} GB/s, "
        f"{rates.f32_tflops:.1f} TFLOP/s in float32, {rates.f16_tflops:.0f} in float16 on tensor cores; "
        f"an empty launch takes {rates.overhead_us:.1f} us."
    )
