"""What a time is worth, and when it cannot be true."""

import pytest

from judge.records import Rates, Timing
from judge.timing.roofline import Work, appraise

RATES = Rates(read_gbs=4000, copy_gbs=3900, f32_tflops=50, f16_tflops=600, overhead_us=2, samples=5)


def timing(median_us, rates=RATES):
    return Timing(
        median_us=median_us, p10_us=median_us, p90_us=median_us, samples=20, rel_ci95=0, cold=True, rates=rates
    )


def test_a_kernel_that_reads_is_held_against_reading():
    found = appraise(timing(125.0), Work(400_000_000, 0, 10**9, 1))
    assert found.timing.bound == "memory"
    assert found.timing.roof_us == pytest.approx(100)
    assert found.fraction == pytest.approx(0.8)
    assert found.gbs == pytest.approx(3200)


def test_a_kernel_that_multiplies_is_held_against_multiplying():
    found = appraise(timing(1000.0), Work(1_000_000, 0, 25 * 10**9, 1))
    assert found.timing.bound == "compute"
    assert found.fraction == pytest.approx(0.5)
    other = appraise(timing(1000.0), Work(1_000_000, 0, 25 * 10**9, 1, "f16"))
    assert other.fraction == pytest.approx(25 / 600)
    assert (found.timing.arithmetic, other.timing.arithmetic) == ("f32", "f16")


def test_a_short_case_shows_its_time_only():
    found = appraise(timing(7.0), Work(400_000, 0, 1000, 1))
    assert (found.timing.bound, found.gbs, found.fraction) == ("launch", None, None)
    assert appraise(timing(9.0), Work(400_000, 0, 1000, 1)).gbs is not None
    assert appraise(timing(9.0), Work(400_000, 0, 1000, 2)).gbs is None, "two launches take twice as long"


@pytest.mark.parametrize(
    ("median_us", "work", "words"),
    [
        (94.0, Work(400_000_000, 0, 0, 1), "has not|does not read all of its inputs"),
        (94.0, Work(420_000_000, 20_000_000, 0, 1), "does not read all of its inputs"),
        (38.0, Work(1000, 0, 25 * 10**9, 1), "does not do all the work"),
    ],
)
def test_a_figure_above_what_is_possible_is_refused(median_us, work, words):
    found = appraise(timing(median_us), work)
    assert found.timing.refused
    assert found.timing.refused.startswith("not credible: ")
    assert any(word in found.timing.refused for word in words.split("|"))
    assert (found.gbs, found.fraction) == (None, None)


@pytest.mark.parametrize(
    ("median_us", "work"),
    [
        (96.0, Work(400_000_000, 0, 0, 1)),
        (96.0, Work(500_000_000, 100_000_000, 0, 1)),
        (41.0, Work(1000, 0, 25 * 10**9, 1)),
    ],
)
def test_outputs_may_stay_in_l2_and_work_may_run_on_tensor_cores(median_us, work):
    assert appraise(timing(median_us), work).timing.refused is None


def test_without_rates_there_is_bandwidth_and_no_share():
    found = appraise(timing(100.0, None), Work(400_000_000, 0, 0, 1))
    assert (found.gbs, found.fraction, found.timing.roof_us) == (pytest.approx(4000), None, None)
