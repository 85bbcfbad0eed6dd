"""Rows of timed repeats against float64: right ones pass, and every way to be wrong is told."""

import numpy as np
import pytest

from judge.problem import Buffer, Case, Group, Parameter, Problem, Role, Timed, Tolerance
from judge.timing.fresh import flipped
from judge.timing.secret import Secret
from judge.verdict import Verdict
from judge.verification import timed as module
from judge.verification.timed import rows_of_last, verify_timed
from judge.worker.timing_messages import Evidence

KEY = bytes(range(32)).hex()
SECRET = Secret(bytes(range(32)))
ROWS, WIDTH = 600, 8
CASE = Case("bench", Group.BENCH, {"R": ROWS})


def reference_rows(case, inputs, rows):
    return {"out": 2.0 * inputs["x"].take(rows).astype(np.float64), "sum": inputs["x"].take(rows).sum(axis=1)}


PROBLEM = Problem(
    id="double",
    title="",
    summary="",
    buffers=(
        Buffer("x", "f32", ("R", WIDTH), Role.INPUT),
        Buffer("out", "f32", ("R", WIDTH), Role.OUTPUT),
        Buffer("sum", "f32", ("R",), Role.OUTPUT),
    ),
    parameters=(Parameter("R", "int"),),
    cases=(CASE,),
    generate=lambda case, rng: {},
    reference=lambda case, inputs: {},
    naive=lambda case, inputs: {},
    minimum_bytes=lambda case, inputs: 1,
    minimum_flops=lambda case, inputs: ROWS * WIDTH,
    tolerances={"*": Tolerance(1e-5, 1e-5, "one rounding")},
    mutants=(),
    default_launch="",
    timed=Timed(("x",), lambda case: ROWS, reference_rows),
)


@pytest.fixture(autouse=True, params=[1e7, 1.0], ids=["one portion", "portions of 256 rows"])
def _portions(request, monkeypatch):
    monkeypatch.setattr(module, "_FLOPS_AT_ONCE", request.param)


X = np.random.default_rng(3).standard_normal((ROWS, WIDTH)).astype(np.float32)


def right(repeat):
    x = flipped(X, SECRET.seed(repeat))
    return {"out": 2 * x, "sum": x.sum(axis=1)}


def evidence(last=30, answers=right):
    kept = tuple(n for n in range(3, last) if SECRET.verified(n))
    rows = b""
    for n in kept:
        first, count = SECRET.block(n, ROWS)
        outputs = answers(n)
        rows += outputs["out"][first : first + count].tobytes() + outputs["sum"][first : first + count].tobytes()
    return Evidence(last, kept, rows), {name: array.tobytes() for name, array in answers(last).items()}


def check(answers=right):
    found, outputs = evidence(answers=answers)
    return verify_timed(PROBLEM, CASE, {"x": X}, outputs, found, KEY)


def test_right_outputs_of_every_repeat_are_accepted():
    found = check()
    assert found.judgement.verdict is Verdict.ACCEPTED, found.judgement.message
    assert (found.rows, found.total) == (ROWS, ROWS)
    assert found.repeats == 1 + len(evidence()[0].kept) > 5


def test_an_answer_kept_from_an_earlier_repeat_is_wrong():
    found = check(lambda repeat: right(3))
    assert found.judgement.verdict is Verdict.WRONG_ANSWER
    assert "verified elements of timed repeats differ; the first is out[0, " in found.judgement.message


def test_a_kernel_that_works_only_in_some_repeats_is_told_so():
    nothing = {"out": np.full((ROWS, WIDTH), np.nan, np.float32), "sum": np.full(ROWS, np.nan, np.float32)}
    found = check(lambda repeat: right(repeat) if repeat == 30 else nothing)
    assert "has wrong outputs, the last one has right ones" in found.judgement.message
    found = check(lambda repeat: right(repeat) if repeat < 30 else nothing)
    assert found.judgement.message.startswith("Only the last timed repeat has wrong outputs.")


def test_a_single_wrong_row_of_the_last_repeat_is_found_and_placed():
    def answers(repeat):
        outputs = right(repeat)
        outputs["sum"][577] += 1
        return outputs

    error = check(answers).judgement.error
    assert error.first.output == "sum"
    assert error.first.index == (577,)


def test_of_a_dear_case_a_random_sample_of_blocks_is_verified(monkeypatch):
    monkeypatch.setattr(module, "LAST_FLOPS", ROWS * WIDTH / 2)
    drawn = {tuple(rows_of_last(PROBLEM, CASE, {"x": X}, ROWS).tolist()) for _ in range(5)}
    assert len(drawn) > 1
    assert all(300 - 15 <= len(rows) < ROWS and len(set(rows)) == len(rows) for rows in drawn)
    found = check()
    assert found.judgement.verdict is Verdict.ACCEPTED
    assert found.rows < found.total


def test_a_problem_without_a_reference_for_rows_is_a_fault_of_ours():
    from dataclasses import replace

    with pytest.raises(ValueError, match="no reference for rows"):
        verify_timed(replace(PROBLEM, timed=None), CASE, {"x": X}, {}, Evidence(0), KEY)
