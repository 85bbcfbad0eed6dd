"""The problem hostile submissions are judged against: `out[i] = factor * x[i]`, three figures' worth of kernel.

It lies in the package, so that the selftest needs no folder of problems. Its one case has a seed of its
own in each run: an answer learned from one submission is wrong in the next.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from judge.problem import (
    Array,
    Arrays,
    Buffer,
    Case,
    Group,
    Parameter,
    Problem,
    Requirement,
    Role,
    Taker,
    Timed,
    Tolerance,
)

ELEMENTS = 64
CASE_NAME = "scale"
TIMED_NAME = "timed"
TIMED_ELEMENTS = 1 << 24
"""Twice 64 MiB: more than an L2 holds."""

HONEST = (
    b"__global__ void k(const float* x, float* out, int N, float factor) {\n"
    b"  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    b"  if (i < N) out[i] = factor * x[i];\n"
    b"}\n"
)


def exercise(time_limit_s: float, *, timed: bool = False) -> Problem:
    """The problem with a time limit for its cases. timed: with a large case that a GPU times."""
    case = Case(CASE_NAME, Group.HIDDEN, {"N": ELEMENTS, "factor": 1.75}, family="random", time_limit_s=time_limit_s)
    large = replace(case, name=TIMED_NAME, group=Group.BENCH, parameters={"N": TIMED_ELEMENTS, "factor": 1.75})
    return Problem(
        id="selftest",
        title="Scale a vector",
        summary="out[i] = factor * x[i]",
        buffers=(Buffer("x", "f32", ("N",), Role.INPUT), Buffer("out", "f32", ("N",), Role.OUTPUT)),
        parameters=(Parameter("N", "int"), Parameter("factor", "float")),
        cases=(case, large) if timed else (case,),
        generate=_generate,
        reference=_scaled,
        naive=_scaled,
        minimum_bytes=lambda case, inputs: 2 * inputs["x"].nbytes,
        minimum_flops=lambda case, inputs: inputs["x"].size,
        tolerances={"out": Tolerance(1e-6, 1e-6, "one rounding")},
        mutants=(),
        default_launch=f"k<<<1, {ELEMENTS}>>>(x, out, N, factor)",
        requirements=(Requirement("read_amplification", 1.1, "Every element of x is read once.", buffers=("x",)),),
        timed=Timed(("x",), lambda case: int(case.parameters["N"]), _scaled_rows),
        workspace_limit_bytes=1 << 20,
    )


def _generate(case: Case, rng: np.random.Generator) -> dict[str, Array]:
    return {"x": rng.uniform(1.0, 2.0, int(case.parameters["N"])).astype(np.float32)}


def _scaled_rows(case: Case, inputs: Mapping[str, Taker], rows: Array) -> dict[str, Array]:
    return {"out": inputs["x"].take(rows) * np.float32(case.parameters["factor"])}


def _scaled(case: Case, inputs: Arrays) -> dict[str, Array]:
    return {"out": inputs["x"] * np.float32(case.parameters["factor"])}
