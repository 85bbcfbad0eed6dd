"""flash-forward-f16: tiled attention of half-precision matrices, summed in float32, on tensor cores or not."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from judge.problem import Array, Arrays, Case, Mutant, Problem, Tiers, Tolerance
from problems._families import dense, dense_cases, narrow
from reference.attention import attend
from reference.mistakes import Weighing, narrow_sums

STORED = ("Q", "K", "V", "O")
INPUTS = STORED[:3]

LARGE = 60000.0
"""A half holds it (up to 65504), but no sum of two."""

LEFT_OUT = {"book", "book-causal", "many-heads", "stairs-falling", "stairs-causal", "cliff-falling"}
LEFT_OUT |= {"huge-scores-causal", "equal-scores", "block-plus-1-full"}
"""Cases of the family that show here what another one of them shows; the book's have fewer heads here."""

CASES = (
    *(case for case in dense_cases.CPU_CASES if case.name not in LEFT_OUT),
    dense_cases.sample("book", 1, 1000, seed=4, doc="the book's N, no multiple of any tile"),
    dense_cases.sample("book-causal", 1, 1000, seed=5, causal=True, doc="the same with the causal mask"),
    dense_cases.hidden("other-scale-tail", 2, 65, scale=0.2),
    dense_cases.hidden(
        "top-scores", 2, 40, family="top", doc="logits from 20000: q . k alone passes what a half holds"
    ),
    dense_cases.hidden("crumbs", 2, 300, 32, family="crumbs", doc="two keys weigh 1, each other one e^-8.25"),
    dense_cases.hidden("crumbs-causal", 1, 200, 64, family="crumbs", causal=True),
    dense_cases.hidden("crumbs-head-128", 1, 160, 128, family="crumbs"),
    dense_cases.hidden("large-values", 2, 64, family="large-values", doc="V = 60000 in head 1: no sum fits a half"),
    dense_cases.hidden("large-values-causal", 2, 40, 32, family="large-values", causal=True),
    dense_cases.bench("bench-8192-128", 16, 8192, 128, causal=False),
    dense_cases.bench("bench-8192-128-causal", 16, 8192, 128, causal=True),
    dense_cases.bench("bench-4096-64-causal", 16, 4096, 64, causal=True),
)


def _generate(case: Case, rng: np.random.Generator) -> dict[str, Array]:
    """The family's inputs; large-values: equal scores, V of order 1 in even heads and LARGE in odd ones."""
    if case.family != "large-values":
        return dense.generate(case, rng)
    arrays = dense.generate(replace(case, family="equal"), rng)
    arrays["V"][1::2] = LARGE
    return arrays


def _naive(case: Case, inputs: Arrays) -> dict[str, Array]:
    """What a kernel on tensor cores does: sums in float32, weights and output rounded to half."""
    return {"O": narrow.rounded(dense.naive(case, inputs, np.float16)["O"], "f16")}


_half = partial(narrow.rounded, dtype="f16")


def _scores_in_half(case: Case) -> Weighing:
    scale = float(case.parameters["scale"])

    def weigh(scores: Array, values: Array) -> Array:
        with np.errstate(all="ignore"):
            out, log_sums = attend(_half(scores / scale) * scale, values)
        out[~np.isfinite(log_sums)] = np.nan
        return out

    return weigh


def _of(weighing: Callable[[Case], Weighing]) -> Callable[[Case, Arrays], dict[str, Array]]:
    return narrow.over_wide(dense.weighed(weighing))


def _passes_half(case: Case) -> bool:
    """Whether q . k before the factor scale is too large, or has too many digits, for a half."""
    return case.family in {"top", "deep", "deepest", "levels"}


def _loses_crumbs(case: Case) -> bool:
    return case.family == "crumbs"


def _loses_values(case: Case) -> bool:
    return case.family in {"crumbs", "large-values"}


MUTANTS = (
    *narrow.mutants_over_wide(dense.MUTANTS),
    Mutant(
        "scores_in_half",
        "Your scores are held in half precision: q . k passes 65504, or keeps 11 bits, before the factor scale.",
        _of(_scores_in_half),
        _passes_half,
        fix="Carry q . k in float32: a float accumulator fragment, or float products.",
        depends_on_order=True,
    ),
    Mutant(
        "output_in_half",
        "Your output is summed in half precision: sums of values pass 65504, and what a key of small weight adds is "
        "rounded away.",
        _of(lambda case: narrow_sums(_half, l=False, o=True)),
        _loses_values,
        fix="Carry o in float32, and round once, when O is stored.",
        depends_on_order=True,
    ),
    Mutant(
        "sum_in_half",
        "Your sum of exponentials l is kept in half precision: what a key of small weight adds is rounded away.",
        _of(lambda case: narrow_sums(_half, l=True, o=False)),
        _loses_crumbs,
        fix="Carry l in float32.",
        depends_on_order=True,
    ),
    Mutant(
        "sums_in_half",
        "Your output and the sum of exponentials l are both summed in half precision.",
        _of(lambda case: narrow_sums(_half, l=True, o=True)),
        _loses_values,
        fix="Carry l and o in float32, and round once, when O is stored.",
        depends_on_order=True,
    ),
)

PROBLEM = Problem(
    id="flash-forward-f16",
    title="FlashAttention forward in half precision",
    summary="Attention in tiles over half-precision Q, K and V with float32 sums: the shape of work for tensor cores.",
    buffers=narrow.buffers_in("f16", STORED, dense.BUFFERS),
    parameters=dense.PARAMETERS,
    cases=CASES,
    generate=narrow.generator_in("f16", INPUTS, _generate, "Q", "K", (64, 1)),
    reference=narrow.over_wide(dense.reference),
    naive=narrow.over_wide(_naive),
    minimum_bytes=dense.minimum_bytes,
    minimum_flops=dense.minimum_flops,
    tolerances={
        "O": Tolerance(
            5e-3,
            5e-3,
            "weights rounded to half for the second product, as tensor cores need it, and the output rounded once "
            "stay ten times below this",
        )
    },
    mutants=MUTANTS,
    timed=replace(
        narrow.timed_over_wide(
            dense.timed(
                Tiers(
                    0.1,
                    0.3,
                    0.5,
                    "of float16 products: tensor cores at all; scores in registers, copies behind them; wgmma",
                )
            )
        ),
        arithmetic="f16",
    ),
    keys=narrow.keys_over_wide(dense.KEYS),
    default_launch="flash_forward_f16<D><<<dim3((N + 63) / 64, BH), 64>>>(Q, K, V, O, N, scale, causal)",
    requirements=(dense.skip_masked_tiles(),),
)
