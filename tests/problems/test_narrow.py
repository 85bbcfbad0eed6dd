"""Problems whose buffers are stored in 16 bits: exact designs, poison, and what a report shows of them."""

import numpy as np
import pytest

from judge.catalogue import find_problems, load_problem
from judge.examples import case_generator
from judge.problem import Role
from judge.verification.compare import judge_case
from problems._families.logits import DESIGNS, crumb_values, design
from problems._families.narrow import rounded, wide
from reference.mistakes import narrow_sums

NARROW = [p for p in find_problems() if any(b.dtype in {"f16", "bf16"} for b in load_problem(p).buffers)]


def drawn(problem, name):
    case = problem.case(name)
    return case, problem.generate(case, case_generator(case, 11))


def test_there_are_such_problems():
    assert "paged-decode-bf16" in NARROW


def test_16_bits_are_read_as_what_they_stand_for():
    assert wide(np.array([0x3FC0, 0x7FC0, 0xC780], np.uint16)).tolist() == pytest.approx(
        [1.5, np.nan, -65536.0], nan_ok=True
    )
    assert wide(np.array([1.5, 65504], np.float16)).dtype == np.float32
    table = np.array([-1, 3], np.int32)
    assert wide(table) is table
    assert rounded(np.array([1.00390625, 3.0]), "bf16").tolist() == [1.0, 3.0]
    assert rounded(np.array([1.00390625, 70000.0]), "f16").tolist() == [1.00390625, np.inf]


def test_designed_scores_of_a_paged_cache_are_exact():
    problem = load_problem("paged-decode-bf16")
    names = ("deep-scores", "deepest-scores", "huge-scores", "rising", "cliff-rising", "crumbs")
    for name in names:
        case, inputs = drawn(problem, name)
        q, k = wide(inputs["q"]).astype(np.float64), wide(inputs["k_cache"]).astype(np.float64)
        context, page = int(inputs["context_lens"][0]), int(case.parameters["PAGE"])
        tokens = k[inputs["block_table"][0, : -(-context // page)]].reshape(-1, *k.shape[2:])[:context, 0]
        scores = tokens @ q[0, 0] * case.parameters["scale"]
        if case.family in {"cliff-rising", "crumbs"}:
            assert scores == pytest.approx(design(case.family, context, np.random.default_rng(0)), abs=1e-9)
        else:
            # Multiples of 1/8 of many digits, which 8 bits alone do not hold.
            assert (scores * 8 == np.round(scores * 8)).all(), name
            assert len(set(scores.tolist())) > 3, name
    assert set(names[:2]) & {case.name for case in problem.cases}


def test_crumbs_count_together_and_vanish_one_by_one():
    scores = DESIGNS["crumbs"](np.random.default_rng(0), 300)[None]
    values = crumb_values(300)[:, None].astype(np.float64)
    crumb = 298 * np.exp(-8.25)
    exact = narrow_sums(lambda x: x, l=True, o=True)(scores, values).item()
    assert exact == pytest.approx((2 + 3 * crumb) / (2 + crumb))
    for dtype in ("f16", "bf16"):
        lost = {
            (total, o): narrow_sums(lambda x, kept=dtype: rounded(x, kept), l=total, o=o)(scores, values).item()
            for total in (False, True)
            for o in (False, True)
        }
        assert lost[True, True] == 1.0
        assert lost[False, True] == pytest.approx(2 / (2 + crumb))
        assert lost[True, False] == pytest.approx((2 + 3 * crumb) / 2)
        assert lost[False, False] == pytest.approx(exact)


@pytest.mark.parametrize("problem_id", NARROW)
def test_values_of_a_report_are_numbers_not_words(problem_id):
    problem = load_problem(problem_id)
    case, inputs = drawn(problem, "index")
    reference, naive = problem.reference(case, inputs), problem.naive(case, inputs)
    [output] = problem.outputs
    outputs = {output.name: np.zeros(output.extent(case.parameters), output.numpy_dtype)}
    outputs[output.name].reshape(-1)[0] = 16 if output.dtype != "bf16" else 0x4180
    judged = judge_case(problem, case, inputs, outputs, reference, naive)
    assert judged.error.first.got == 0.0
    assert judged.error.first.want == pytest.approx(16.0)
    assert judged.error.mismatches == outputs[output.name].size - 1


@pytest.mark.parametrize("problem_id", NARROW)
def test_unwritten_elements_of_16_bits_are_told(problem_id):
    problem = load_problem(problem_id)
    case, inputs = drawn(problem, "index")
    reference, naive = problem.reference(case, inputs), problem.naive(case, inputs)
    [output] = problem.outputs
    shape = output.extent(case.parameters)
    filled = np.full(int(np.prod(shape)) * output.numpy_dtype.itemsize, 0xFF, np.uint8)
    outputs = {output.name: filled.view(output.numpy_dtype).reshape(shape)}
    judged = judge_case(problem, case, inputs, outputs, reference, naive)
    assert [d.kind.value for d in judged.diagnoses] == ["unwritten"]


@pytest.mark.parametrize("problem_id", NARROW)
def test_the_least_bytes_count_two_for_an_element_in_16_bits(problem_id):
    problem = load_problem(problem_id)
    case, inputs = drawn(problem, "index")
    narrow = {b.name for b in problem.buffers if b.dtype in {"f16", "bf16"} and b.role is Role.INPUT}
    whole = sum(inputs[name].nbytes for name in narrow)
    least = problem.minimum_bytes(case, inputs)
    doubled = problem.minimum_bytes(case, {n: wide(a) if n in narrow else a for n, a in inputs.items()})
    assert least < doubled <= least + whole + sum(2 * b.nbytes for b in (wide(inputs[n]) for n in narrow))
