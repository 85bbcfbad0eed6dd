import numpy as np
import pytest

from judge.problem import Buffer, Role, Tolerance
from judge.records import DiagnosisKind
from judge.verdict import Verdict
from judge.verification.compare import SLICE_SHARE, compare_output, judge_case
from judge.verification.tolerances import as_float64, is_right
from tests.unit.verification.fakes import make_problem

EXACT = Tolerance(1e-6, 1e-6, "test")


def judged(change, problem=None):
    problem = problem or make_problem()
    case = problem.cases[0]
    inputs = problem.generate(case, np.random.default_rng(0))
    reference = problem.reference(case, inputs)
    out = reference["out"].astype(np.float32)
    change(out)
    return judge_case(problem, case, inputs, {"out": out}, reference, problem.naive(case, inputs))


def test_right_outputs_are_accepted_with_figures():
    judgement = judged(lambda out: None)
    assert judgement.verdict is Verdict.ACCEPTED
    assert judgement.error.mismatches == 0
    assert judgement.error.total == 160
    assert judgement.error.naive_multiple is not None
    assert judgement.error.naive_multiple < 1


def test_one_wrong_element_is_found_with_index_and_both_values():
    def change(out):
        out[2, 7] = 0.5

    judgement = judged(change)
    assert judgement.verdict is Verdict.WRONG_ANSWER
    assert judgement.error.mismatches == 1
    first = judgement.error.first
    assert (first.output, first.index, first.got) == ("out", (2, 7), 0.5)
    assert 2 <= first.want <= 4
    assert "out[2, 7]" in judgement.message
    assert "R = 2, C = 7" in judgement.error.pattern


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_wrong_and_said_to_be(value):
    def change(out):
        out[1, 3] = value

    judgement = judged(change)
    assert judgement.verdict is Verdict.WRONG_ANSWER
    assert [d.kind for d in judgement.diagnoses] == [DiagnosisKind.NONFINITE]
    assert judgement.error.first.got == str(value)


def test_poison_bits_are_unwritten_not_just_nan():
    def change(out):
        out[:, 32:].view(np.uint32)[...] = 0xFFFFFFFF

    judgement = judged(change)
    assert [d.kind for d in judgement.diagnoses] == [DiagnosisKind.UNWRITTEN]
    assert judgement.diagnoses[0].occurrences == 32
    assert "the last 8 of C (from 32 on, after the last full tile of 32)" in judgement.diagnoses[0].message


def test_poison_value_that_is_right_is_no_fault():
    buffer = Buffer("flag", "i32", ("R",), Role.OUTPUT)
    compared = compare_output(buffer, np.array([-1, 3], np.int32), np.array([-1.0, 3.0]), EXACT)
    assert not compared.wrong.any()
    assert not compared.unwritten.any()


def test_infinity_is_right_only_with_its_sign():
    want = np.array([np.inf, -np.inf, -np.inf, np.inf])
    got = np.array([np.inf, -np.inf, np.inf, 1e30])
    assert is_right(got, want, EXACT).tolist() == [True, True, False, False]


def test_nan_is_right_only_by_declaration():
    values = np.array([np.nan, 1.0])
    assert is_right(values, values, EXACT).tolist() == [False, True]
    assert is_right(values, values, EXACT, nan_equal=True).tolist() == [True, True]


def test_small_error_of_one_whole_head_cannot_hide_inside_the_tolerance():
    def change(out):
        out[3] *= np.float32(1 + 0.9e-5)

    judgement = judged(change)
    assert judgement.error.mismatches == 0
    assert judgement.verdict is Verdict.WRONG_ANSWER
    assert "systematic" in judgement.message
    assert "out[3, :]" in judgement.message


def test_error_of_rounding_size_passes_the_slice_budget():
    def change(out):
        out *= np.float32(1 + 0.2e-5)

    assert judged(change).verdict is Verdict.ACCEPTED
    assert 0.2 < SLICE_SHARE < 0.5


def test_matching_infinities_do_not_spoil_the_slice_budget():
    buffer = Buffer("lse", "f32", ("R",), Role.OUTPUT)
    want = np.full(16, -np.inf)
    compared = compare_output(buffer, want.astype(np.float32), want, EXACT)
    assert not compared.wrong.any()
    assert compared.slices_over == ()
    assert compared.worst_slice_share == 0.0


def test_reference_with_nan_is_the_judges_fault():
    problem = make_problem(reference=lambda case, inputs: {"out": np.full(inputs["x"].shape, np.nan)})
    case = problem.cases[0]
    inputs = problem.generate(case, np.random.default_rng(0))
    judgement = judge_case(
        problem, case, inputs, {"out": inputs["x"]}, problem.reference(case, inputs), problem.naive(case, inputs)
    )
    assert judgement.verdict is Verdict.JUDGE_ERROR
    assert "doubling" in judgement.message


def test_shape_mismatch_names_both_shapes():
    buffer = Buffer("out", "f32", ("R",), Role.OUTPUT)
    with pytest.raises(ValueError, match=r"\(3,\).*\(4,\)"):
        compare_output(buffer, np.zeros(3, np.float32), np.zeros(4), EXACT)


def test_empty_output_is_right():
    buffer = Buffer("out", "f32", ("R", "C"), Role.OUTPUT)
    compared = compare_output(buffer, np.zeros((0, 16), np.float32), np.zeros((0, 16)), EXACT)
    assert compared.wrong.size == 0


def test_a_yardstick_that_is_exact_by_luck_measures_nothing():
    problem = make_problem()
    case = problem.cases[0]
    inputs = problem.generate(case, np.random.default_rng(0))
    reference = problem.reference(case, inputs)
    outputs = {"out": (reference["out"] * (1 + 2e-6)).astype(np.float32)}
    told = [
        judge_case(problem, case, inputs, outputs, reference, {"out": reference["out"] * (1 + off)}).error
        for off in (1e-15, 1e-7)
    ]
    assert told[0].naive_multiple is None
    assert told[1].naive_multiple == pytest.approx(20, rel=0.1)


def test_bf16_is_read_from_its_upper_bits():
    assert as_float64(np.array([0x3F80, 0xC000], np.uint16), "bf16").tolist() == [1.0, -2.0]
    assert as_float64(np.array([1.5, -2.0], np.float32), "bf16").tolist() == [1.5, -2.0], "a yardstick is not stored"


def test_places_are_told_with_the_names_that_the_problem_gives_its_axes():
    buffers = (
        Buffer("x", "f32", ("R", "C"), Role.INPUT),
        Buffer("out", "f32", ("R", "C"), Role.OUTPUT, axes=("row", "column")),
    )
    problem = make_problem(buffers=buffers)

    def change(out):
        out[2, 3] += 1

    error = judged(change, problem).error
    assert error.pattern == "one element only, row = 2, column = 3"
    assert (error.map.row_axis, error.map.column_axis) == ("row", "column")
    with pytest.raises(ValueError, match="2 dimensions, but 1 names"):
        Buffer("out", "f32", ("R", "C"), Role.OUTPUT, axes=("row",))
