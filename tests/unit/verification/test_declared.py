import numpy as np
import pytest

from judge.bfloat16 import to_bfloat16
from judge.problem import Buffer, Role
from judge.verification.declared import declaration_faults
from tests.unit.verification.fakes import make_problem


def faults(x, dtype="f32", **more):
    buffers = (Buffer("x", dtype, ("R", "C"), Role.INPUT), Buffer("out", "f32", ("R", "C"), Role.OUTPUT))
    problem = make_problem(buffers=buffers)
    return list(declaration_faults(problem, problem.cases[0], {"x": x, **more} if x is not None else more))


ONES = np.ones((4, 40), np.float32)


@pytest.mark.parametrize(("dtype", "x"), [("f32", ONES), ("f16", ONES.astype(np.float16)), ("bf16", to_bfloat16(ONES))])
def test_inputs_as_declared_have_no_fault(dtype, x):
    assert faults(x, dtype) == []


def test_a_half_is_no_bfloat16_though_its_bytes_fit():
    assert faults(ONES.astype(np.float16), "bf16") == [
        "small: x is generated as float16; bf16 is uint16 (how NumPy keeps bfloat16: judge.bfloat16)"
    ]
    assert faults(ONES, "f16") == ["small: x is generated as float32; f16 is float16"]


def test_shapes_and_names():
    assert faults(ONES[:2]) == ["small: x is generated in shape (2, 40); it is declared as (4, 40)"]
    assert faults(None, y=ONES) == ["small: x is not generated", "small: y is generated, but no input buffer"]


def test_an_unknown_type_is_told_with_those_that_exist():
    with pytest.raises(ValueError, match=r"buffer x: there is no type 'fp16'; use one of f32, f64, f16, bf16"):
        Buffer("x", "fp16", ("N",), Role.INPUT)
