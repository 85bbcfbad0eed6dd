"""The words under the table of cases say how a time was taken and what is wrong with it."""

from judge.records import CaseReport, Rates, Timing
from judge.reports.style import Style
from judge.reports.timing import remarks, timing_section
from judge.verdict import Verdict

RATES = Rates(read_gbs=4200, copy_gbs=3900, f32_tflops=51, f16_tflops=620, overhead_us=2.1, samples=5)
PLAIN = Timing(
    median_us=100, p10_us=99, p90_us=101, samples=60, rel_ci95=0.004, cold=True, fresh_data=True, rates=RATES,
    verified_repeats=21, verified_rows=2048, rows=2048, clock_mhz=1980, temperature_c=41, power_w=512.4,
)  # fmt: skip


def section(timing):
    case = CaseReport(name="bench", group="bench", verdict=Verdict.ACCEPTED, backend="cuda", timing=timing)
    return " ".join(timing_section([case], Style()).split())


def test_a_plain_figure_needs_no_remark_and_says_how_it_was_taken():
    assert remarks(PLAIN) == []
    text = section(PLAIN)
    assert "L2 cold, other numbers in every repeat, outputs of 21 of 60 repeats verified" in text
    assert "SM clock 1980 MHz, 41 C, 512 W." in text
    assert "reads 4200 GB/s, copies 3900 GB/s, 51.0 TFLOP/s in float32, 620 in float16" in text


def test_every_flaw_is_named():
    flawed = PLAIN.model_copy(
        update={
            "refused": "not credible: too fast",
            "noisy": True,
            "noisy_because": ("others worked on the GPU meanwhile: train\x1b[2J (process 7)",),
            "limited_by": ("power cap",),
            "verified_rows": 512,
        }
    )
    text = section(flawed)
    assert "bench: not credible: too fast" in text
    assert "noisy: others worked on the GPU meanwhile: train" in text
    assert "\x1b" not in text
    assert "held the clocks down (power cap)" in text
    assert (
        "verified 512 of 2048 output rows of the last repeat, drawn at random (25.0%), and 16 rows each of 20" in text
    )


def test_a_case_bound_by_its_launches_says_why_there_is_no_share():
    assert "only the time is shown" in section(PLAIN.model_copy(update={"bound": "launch"}))


def test_nothing_is_said_where_nothing_was_timed():
    case = CaseReport(name="one", group="sample", verdict=Verdict.ACCEPTED, backend="cpu")
    assert timing_section([case], Style()) == ""
