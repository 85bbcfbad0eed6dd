"""A timed case is held against the arithmetic that its problem names."""

from dataclasses import replace

import numpy as np
import pytest

from judge.benchwork import worth
from judge.problem import Tiers, Timed
from judge.records import Rates, Timing
from judge.worker.messages import CaseResult
from tests.unit.verification.fakes import make_problem

RATES = Rates(read_gbs=4000, copy_gbs=3900, f32_tflops=50, f16_tflops=600, overhead_us=2, samples=5)
TIMED = Timed((), lambda case: 4, lambda case, inputs, rows: {}, Tiers(0.3, 0.6, 0.9, "so"))


@pytest.mark.parametrize(("arithmetic", "share", "tier"), [("f32", 0.96, "gold"), ("f16", 0.08, None)])
def test_operations_count_against_the_rate_of_the_arithmetic(arithmetic, share, tier):
    problem = make_problem(timed=replace(TIMED, arithmetic=arithmetic), minimum_flops=lambda case, inputs: 48 * 10**9)
    timing = Timing(median_us=1000.0, p10_us=999.0, p90_us=1001.0, samples=20, rel_ci95=0, cold=True, rates=RATES)
    case = problem.cases[0]
    figures = worth(problem, case, problem.generate(case, np.random.default_rng(0)), CaseResult(timing=timing))
    assert figures.fraction == pytest.approx(share)
    assert figures.tier == tier
    assert figures.timing.arithmetic == arithmetic
