"""The comparison with PyTorch, as far as it goes without PyTorch: shapes, rows, ratios, refusals."""

import importlib.util

import numpy as np
import pytest

from judge.catalogue import load_problem
from judge.errors import JudgeError
from tests.bench import sdpa
from tests.bench.sdpa import Shape, line, load_torch, our_row, row_of, shapes_of, with_ratios

FULL = Shape("flash-forward 64", "f32", 1, 2, 64, 64, 32, 0.1, False, ("flash-forward", "bench-64"))


def test_every_dense_and_every_even_decoding_bench_case_has_a_shape():
    shapes = shapes_of([load_problem("flash-forward"), load_problem("gqa-decode"), load_problem("online-softmax")])
    named = {(shape.name, shape.dtype): shape for shape in shapes}
    dense = named["flash-forward 8192-128-causal", "f32"]
    assert (dense.batch, dense.heads, dense.rows, dense.keys, dense.d, dense.causal) == (1, 16, 8192, 8192, 128, True)
    decode = named["decode 64x4096", "f32"]
    assert (decode.batch, decode.heads, decode.rows, decode.keys) == (64, 8, 4, 4096)
    assert decode.ours == ("gqa-decode", "bench-64x4096")
    assert named["decode 64x4096", "f16"].ours is None
    assert named["decode 1x131072", "bf16"].keys == 131072
    assert not any("mixed" in name for name, _ in named), "contexts of several lengths are no single call"


def test_a_shape_has_the_type_that_keys_are_stored_in():
    problems = [load_problem(name) for name in ("flash-forward-f16", "paged-decode-bf16", "gqa-decode")]
    named = {(shape.name, shape.dtype): shape.ours for shape in shapes_of(problems)}
    assert named["flash-forward-f16 8192-128", "f16"] == ("flash-forward-f16", "bench-8192-128")
    assert named["decode 64x4096", "bf16"] == ("paged-decode-bf16", "bench-64x4096")
    assert named["decode 64x4096", "f32"] == ("gqa-decode", "bench-64x4096")


def test_bytes_and_operations_are_the_problems_own():
    problem = load_problem("flash-forward")
    for name in ("one-key", "block", "block-plus-1"):
        case = problem.case(name)
        shape = sdpa.dense_shape(problem, case)
        inputs = {key: problem_array(shape) for key in ("Q", "K", "V")}
        assert shape.bytes_ == problem.minimum_bytes(case, inputs)
        assert shape.flops == problem.minimum_flops(case, inputs)


def problem_array(shape):
    return np.zeros((shape.heads, shape.rows, shape.d), np.float32)


def test_ours_is_the_fastest_right_solution():
    row = {"problem": "flash-forward", "case": "bench-64", "verdict": "accepted", "p10_us": 1.0, "p90_us": 2.0}
    row |= {"samples": 9, "gbs": 1.0, "tflops": 1.0}
    measured = [
        row | {"file": "slow.cu", "median_us": 9.0},
        row | {"file": "fast.cu", "median_us": 4.0},
        row | {"file": "wrong.cu", "median_us": 1.0, "verdict": "wrong_answer"},
        row | {"file": "other.cu", "median_us": 1.0, "case": "bench-65"},
        {**{key: row[key] for key in ("problem", "case")}, "file": "none.cu", "verdict": "accepted"},
    ]
    assert our_row(FULL, measured)["what"] == "flash-forward/fast.cu"
    assert our_row(FULL, measured[2:]) is None


def test_ratios_compare_time_and_between_types_bandwidth():
    f32 = Shape("decode 2x64", "f32", 2, 1, 4, 64, 32, 0.1)
    f16 = Shape("decode 2x64", "f16", 2, 1, 4, 64, 32, 0.1)
    rows = [
        row_of(f32, "gqa-decode/fast.cu", [10.0, 10.0]),
        row_of(f32, "torch math", [30.0, 30.0, 30.0]),
        row_of(f16, "torch flash", [10.0]),
        row_of(f16, "torch cudnn", [], message="No available kernel"),
        row_of(FULL, "torch math", [5.0]),
    ]
    ours, math, flash, cudnn, alone = with_ratios(rows, [f32, f16, FULL])
    assert ours["ratio"] is None
    assert (math["ratio"], math["ratio_of"]) == (3.0, "time")
    assert flash["ratio"] == pytest.approx(2.0), "half the bytes in the same time"
    assert "2.00 GB/s" in line(flash)
    assert line(cudnn).endswith("No available kernel")
    assert alone["ratio"] is None


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="PyTorch is installed here")
def test_a_missing_pytorch_is_told_with_what_to_do(capsys):
    with pytest.raises(JudgeError, match="PyTorch is not installed here"):
        load_torch()
    assert sdpa.main(["--only", "8192"]) == 2
    assert "install a build for this GPU" in capsys.readouterr().err
