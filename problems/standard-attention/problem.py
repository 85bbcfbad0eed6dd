"""standard-attention: the formula in three launches, with the N x N scores in memory."""

from collections.abc import Callable

import numpy as np

from judge.problem import Array, Arrays, Case, Mutant, Problem, Tiers, Tolerance
from problems._families import dense, dense_cases
from problems._families.dense_cases import bench, sample
from reference.softmax import exp_shifted

CASES = (
    *dense_cases.SAMPLES,
    sample(
        "book-length",
        1,
        1000,
        32,
        seed=4,
        time_limit_s=20.0,
        doc="the book's length with one small head: N is no multiple of any tile",
    ),
    *dense_cases.HIDDEN,
    bench("bench-4096-64", 4, 4096, 64, causal=False),
    bench("bench-4096-64-causal", 4, 4096, 64, causal=True),
    bench("bench-2048-128", 16, 2048, 128, causal=False),
)

ONLINE_ONLY = {"no_rescale_o", "no_rescale", "tiles_added"}
"""Mistakes of an output that grows tile by tile, which has no place in three launches."""


def _weighed_by(weights: Callable[[Array], Array]) -> Callable[[Case, Arrays], dict[str, Array]]:
    """Attention with other weights, [N, N] from the scores [N, N] of a head."""

    def compute(case: Case, inputs: Arrays) -> dict[str, Array]:
        scale, causal = float(case.parameters["scale"]), bool(case.parameters["causal"])
        out = np.empty(inputs["Q"].shape)
        for head, (q, k, v) in enumerate(zip(inputs["Q"], inputs["K"], inputs["V"], strict=True)):
            scores = (q.astype(np.float64) * scale) @ k.astype(np.float64).T
            if causal:
                scores[np.triu_indices(len(q), 1)] = -np.inf
            out[head] = weights(scores) @ v.astype(np.float64)
        return {"O": out}

    return compute


def _softmax(scores: Array, axis: int) -> Array:
    weights = exp_shifted(scores, scores.max(axis=axis, keepdims=True))
    normalized: Array = weights / weights.sum(axis=axis, keepdims=True)
    return normalized


def _has_several_rows(case: Case) -> bool:
    return int(case.parameters["N"]) > 1


MUTANTS = (
    *(mutant for mutant in dense.MUTANTS if mutant.id not in ONLINE_ONLY),
    Mutant(
        "softmax_over_queries",
        "Your softmax runs down the columns of the scores: each query's weights over the keys, a row, add up to 1.",
        _weighed_by(lambda scores: _softmax(scores, 0)),
        _has_several_rows,
        fix="Give the softmax the rows of the scores: one query, all keys.",
    ),
    Mutant(
        "weights_transposed",
        "Your output is the transposed weights times V: row i of O needs row i of the weights, not column i.",
        _weighed_by(lambda scores: _softmax(scores, 1).T),
        _has_several_rows,
        fix="Read the weight of key j for query i at [i][j], in the order in which the scores were written.",
    ),
)

PROBLEM = Problem(
    id="standard-attention",
    title="Standard attention",
    summary="Scores, softmax, times V: three launches with the N x N scores in memory, and what that traffic costs.",
    buffers=dense.BUFFERS,
    parameters=dense.PARAMETERS,
    cases=CASES,
    generate=dense.generate,
    reference=dense.reference,
    naive=dense.naive,
    minimum_bytes=dense.minimum_bytes,
    minimum_flops=dense.minimum_flops,
    tolerances={
        "O": Tolerance(
            3e-5,
            3e-4,
            "float32 sums of up to 4096 terms with __expf stay ten times below this; values are of order 1",
        )
    },
    mutants=MUTANTS,
    timed=dense.timed(
        Tiers(0.05, 0.15, 0.3, "of float32 multiply-adds: without tiles, tiles in shared memory, tiles in registers")
    ),
    keys=dense.KEYS,
    default_launch="standard_attention<D><<<dim3(N, BH), D>>>(Q, K, V, O, N, scale, causal)",
    # Four heads of 4096 tokens: two score matrices of 256 MiB, for those who keep scores and weights apart.
    workspace_limit_bytes=512 << 20,
)
