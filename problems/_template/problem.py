"""template-id: a new problem; this one adds a scaled array to another."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from judge.problem import (
    Array,
    Arrays,
    Buffer,
    Case,
    Group,
    Mutant,
    Parameter,
    Problem,
    Role,
    Taker,
    Tiers,
    Timed,
    Tolerance,
)


def _case(name: str, n: int, **settings: Any) -> Case:
    settings = {"group": Group.HIDDEN, "time_limit_s": 5.0} | settings
    return Case(name, parameters={"N": n, "a": 2.5}, **settings)


CASES = (
    _case("three", 3, group=Group.SAMPLE, seed=1, doc="small enough to follow by hand"),
    _case("thousand", 1000, group=Group.SAMPLE, seed=2),
    _case("one", 1),
    _case("tile-minus-1", 31),
    _case("tile", 32),
    _case("tile-plus-1", 33),
    _case("huge", 77, family="huge", doc="values near 1e30"),
    _case("bench", 1 << 24, group=Group.BENCH, time_limit_s=60.0),
)


def generate(case: Case, rng: np.random.Generator) -> dict[str, Array]:
    """Two random arrays; the family "huge" makes them large and positive, so that nothing cancels."""
    x, y = rng.standard_normal((2, int(case.parameters["N"])), np.float32)
    if case.family == "huge":
        x, y = np.abs(x) * np.float32(1e30), np.abs(y) * np.float32(1e30)
    return {"x": x, "y": y}


def reference(case: Case, inputs: Arrays) -> dict[str, Array]:
    """The right answer in float64. Mathematics that other problems can use belongs into reference/."""
    return {"out": float(case.parameters["a"]) * inputs["x"].astype(np.float64) + inputs["y"]}


def reference_rows(case: Case, inputs: Mapping[str, Taker], rows: Array) -> dict[str, Array]:
    """Some rows of the output alone, here elements; they verify timed repeats, whose inputs have other signs."""
    x, y = (inputs[name].take(rows).astype(np.float64) for name in ("x", "y"))
    return {"out": float(case.parameters["a"]) * x + y}


def naive(case: Case, inputs: Arrays) -> dict[str, Array]:
    """The same in float32: the yardstick of the tolerance."""
    return {"out": np.float32(case.parameters["a"]) * inputs["x"] + inputs["y"]}


def minimum_bytes(case: Case, inputs: Arrays) -> int:
    """Each input read once, the output written once."""
    return 3 * inputs["x"].nbytes


def minimum_flops(case: Case, inputs: Arrays) -> int:
    """One multiply-add an element."""
    return 2 * inputs["x"].size


def _last_dropped(case: Case, inputs: Arrays) -> dict[str, Array]:
    out = reference(case, inputs)["out"].copy()
    out[-1] = np.nan
    return {"out": out}


MUTANTS = (
    Mutant(
        "zeros",
        "Every output is zero.",
        lambda case, inputs: {"out": np.zeros(inputs["x"].shape)},
        fix="Store what the kernel computed.",
    ),
    Mutant(
        "last_dropped",
        "The last element is left out: a loop or a guard ends one early.",
        _last_dropped,
        fix="Let the guard reach the last element.",
    ),
    Mutant(
        "no_factor",
        "x is added without the factor a.",
        lambda case, inputs: {"out": inputs["x"] + inputs["y"]},
        fix="Multiply x by a.",
    ),
)

PROBLEM = Problem(
    id="template-id",
    title="template-id",
    summary="Add a scaled array to another.",
    buffers=(
        Buffer("x", "f32", ("N",), Role.INPUT, "the array to scale"),
        Buffer("y", "f32", ("N",), Role.INPUT, "the array to add"),
        Buffer("out", "f32", ("N",), Role.OUTPUT, "a x + y"),
    ),
    parameters=(Parameter("N", "int", doc="elements"), Parameter("a", "float", doc="factor of x")),
    cases=CASES,
    generate=generate,
    reference=reference,
    naive=naive,
    minimum_bytes=minimum_bytes,
    minimum_flops=minimum_flops,
    tolerances={"out": Tolerance(1e-5, 1e-5, "one float32 rounding of values of order 1 is a hundred times smaller")},
    mutants=MUTANTS,
    timed=Timed(("x", "y"), lambda case: int(case.parameters["N"]), reference_rows, Tiers(0.5, 0.7, 0.9, "reads")),
    default_launch="scale_add<<<(N + 255) / 256, 256>>>(x, y, out, N, a)",
)
