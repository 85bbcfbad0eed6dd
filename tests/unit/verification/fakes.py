"""A small problem for tests: out[r, c] = 2 * x[r, c], with its typical mistakes."""

import numpy as np

from judge.problem import Arrays, Buffer, Case, Group, Mutant, Parameter, Problem, Requirement, Role, Tolerance


def doubled(case: Case, inputs: Arrays) -> dict[str, np.ndarray]:
    return {"out": 2.0 * inputs["x"].astype(np.float64)}


def make_problem(**changes: object) -> Problem:
    settings: dict[str, object] = {
        "id": "doubling",
        "title": "Doubling",
        "summary": "Doubles every element.",
        "buffers": (
            Buffer("x", "f32", ("R", "C"), Role.INPUT),
            Buffer("out", "f32", ("R", "C"), Role.OUTPUT),
        ),
        "parameters": (Parameter("R", "int"), Parameter("C", "int")),
        "cases": (Case("small", Group.SAMPLE, {"R": 4, "C": 40}, seed=1),),
        "generate": lambda case, rng: {
            "x": rng.uniform(1, 2, (case.parameters["R"], case.parameters["C"])).astype(np.float32)
        },
        "reference": doubled,
        "naive": lambda case, inputs: {"out": (inputs["x"] * np.float32(2.0000002)).astype(np.float32)},
        "minimum_bytes": lambda case, inputs: 2 * inputs["x"].nbytes,
        "minimum_flops": lambda case, inputs: inputs["x"].size,
        "tolerances": {"*": Tolerance(1e-5, 1e-5, "one rounding")},
        "mutants": (
            Mutant("zeros", "Your output is zero.", lambda case, inputs: {"out": np.zeros_like(inputs["x"])}),
            Mutant("copied", "You forgot to double.", lambda case, inputs: {"out": inputs["x"].astype(np.float64)}),
            Mutant("harmless", "No mistake at all.", doubled),
            Mutant("everything-nan", "All is NaN.", lambda case, inputs: {"out": np.full(inputs["x"].shape, np.nan)}),
        ),
        "default_launch": "twice<<<R, C>>>(x, out)",
        "requirements": (Requirement("read_amplification", 1.1, "Read x once.", ("x",)),),
    }
    return Problem(**(settings | changes))  # type: ignore[arg-type]
