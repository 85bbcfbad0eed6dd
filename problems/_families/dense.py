"""Dense attention: Q, K, V [BH, N, D] to O [BH, N, D], float32, full or causal."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from judge.problem import (
    Array,
    Arrays,
    Buffer,
    Case,
    KeyAxis,
    Mutant,
    Parameter,
    Requirement,
    Role,
    Taker,
    Tiers,
    Timed,
    Weighed,
)
from problems._families.logits import crumb_values, design, group_values
from reference.attention import attend, attention, causal_pairs
from reference.mistakes import (
    Weighing,
    base_two,
    maximum_from,
    no_maximum,
    not_normalized,
    tiled,
    tiles_added,
    uniform,
)
from reference.softmax import softmax

TILE = 32
"""Keys a tile in the yardstick and in the mutants that tile."""

_BLOCK_SCORES = 1 << 20

BUFFERS = (
    Buffer("Q", "f32", ("BH", "N", "D"), Role.INPUT, "queries, one matrix for each batch entry and head"),
    Buffer("K", "f32", ("BH", "N", "D"), Role.INPUT, "keys"),
    Buffer("V", "f32", ("BH", "N", "D"), Role.INPUT, "values"),
    Buffer("O", "f32", ("BH", "N", "D"), Role.OUTPUT, "attention output"),
)

PARAMETERS = (
    Parameter("BH", "int", doc="batch entries times heads; every one is independent"),
    Parameter("N", "int", doc="sequence length: queries and keys"),
    Parameter("D", "int", constant=True, doc="head dimension: 32, 64 or 128, known at compile time"),
    Parameter("scale", "float", doc="factor of every score, above 0; not always 1/sqrt(D)"),
    Parameter("causal", "bool", doc="true: query i sees the keys 0 .. i"),
)


def parameters(bh: int, n: int, d: int, causal: bool, scale: float | None = None) -> dict[str, int | float | bool]:
    """Parameters of a case; scale is 1/sqrt(d) rounded to float32 unless given."""
    return {"BH": bh, "N": n, "D": d, "scale": float(np.float32(scale or d**-0.5)), "causal": causal}


def generate(case: Case, rng: np.random.Generator) -> dict[str, Array]:
    """Inputs of a case by its family: the designs of logits.py, random, uniform, index or dims.

    random: normal, with queries 1.5 times as long so that the softmax is far from flat.
    uniform: the same spread, cheaper to draw, for large cases.
    index: Q = 0 and V[j] = j, so that an output is the mean index of the keys it saw.
    dims: V[j][c] = c + 1000 * head.
    """
    bh, n, d = (int(case.parameters[name]) for name in ("BH", "N", "D"))
    shape = (bh, n, d)
    if case.family == "uniform":
        q, k, v = (rng.random(shape, np.float32) * np.float32(3.4) - np.float32(1.7) for _ in range(3))
        return {"Q": q * np.float32(1.5), "K": k, "V": v}
    q, k, v = (rng.standard_normal(shape, np.float32) for _ in range(3))
    if case.family == "random":
        q *= np.float32(1.5)
    elif case.family == "index":
        q[:] = 0
        v[:] = np.arange(n, dtype=np.float32)[:, None]
    elif case.family == "dims":
        v[:] = np.arange(d, dtype=np.float32) + 1000 * np.arange(bh, dtype=np.float32)[:, None, None]
    else:
        q[:] = 0
        q[:, :, 0] = 1 / case.parameters["scale"]
        for head in range(bh):
            k[head, :, 0] = design(case.family, n, rng, head)
        if case.family.startswith(("stairs", "cliff")):
            v[:] = group_values(n)[:, None]
        elif case.family == "crumbs":
            v[:] = crumb_values(n)[:, None]
    return {"Q": q, "K": k, "V": v}


def reference(case: Case, inputs: Arrays) -> dict[str, Array]:
    """The right answer in float64."""
    p = case.parameters
    return {"O": attention(inputs["Q"], inputs["K"], inputs["V"], float(p["scale"]), bool(p["causal"]))[0]}


def reference_rows(case: Case, inputs: Mapping[str, Taker], rows: Array) -> dict[str, Array]:
    """Rows of O alone, row = head * N + query: [rows, D]."""
    n, d = int(case.parameters["N"]), int(case.parameters["D"])
    scale, causal = float(case.parameters["scale"]), bool(case.parameters["causal"])
    heads, queries = np.divmod(rows, n)
    out = np.empty((rows.size, d))
    for head in np.unique(heads):
        chosen = np.flatnonzero(heads == head)
        q = inputs["Q"].take(int(head), queries[chosen]).astype(np.float64) * scale
        k, v = (inputs[name].take(int(head)).astype(np.float64) for name in ("K", "V"))
        scores = q @ k.T
        if causal:
            scores[np.arange(n) > queries[chosen][:, None]] = -np.inf
        out[chosen] = attend(scores, v)[0]
    return {"O": out}


def attended(case: Case, inputs: Arrays, rows: Array) -> Iterator[Weighed]:
    """Weights and values of rows of O, row = head * N + query, head by head."""
    n = int(case.parameters["N"])
    scale, causal = float(case.parameters["scale"]), bool(case.parameters["causal"])
    heads, queries = np.divmod(rows, n)
    for head in dict.fromkeys(heads.tolist()):
        chosen = np.flatnonzero(heads == head)
        q, k, v = (np.asarray(inputs[name][head], np.float64) for name in ("Q", "K", "V"))
        scores = (q[queries[chosen]] * scale) @ k.T
        if causal:
            scores[np.arange(n) > queries[chosen][:, None]] = -np.inf
        yield Weighed(rows[chosen], softmax(scores), v)


KEYS = KeyAxis("O", TILE, attended, down=1)
"""The keys behind an error of O; the same tile is drawn for all heads together."""


def timed(tiers: Tiers | None = None) -> Timed:
    """How the bench cases of the family are timed and verified."""
    return Timed(
        ("Q", "K", "V"), lambda case: int(case.parameters["BH"]) * int(case.parameters["N"]), reference_rows, tiers
    )


def naive(case: Case, inputs: Arrays, weights_as: type[np.floating[Any]] = np.float32) -> dict[str, Array]:
    """Online softmax in float32, tile after tile, as a plain kernel does it.

    weights_as: what a weight is rounded to before it meets V; the sum of weights l takes it unrounded.
    """
    scale, causal = np.float32(case.parameters["scale"]), bool(case.parameters["causal"])
    q, k, v = inputs["Q"], inputs["K"], inputs["V"]
    bh, n, d = q.shape
    out = np.empty((bh, n, d), np.float32)
    rows_at_once = max(TILE, _BLOCK_SCORES // (TILE * bh))
    for first in range(0, n, rows_at_once):
        rows = np.arange(first, min(first + rows_at_once, n))
        scaled = q[:, rows] * scale
        m = np.full((bh, rows.size, 1), -np.inf, np.float32)
        l = np.zeros((bh, rows.size, 1), np.float32)
        o = np.zeros((bh, rows.size, d), np.float32)
        for j in range(0, int(rows[-1]) + 1 if causal else n, TILE):
            s = scaled @ k[:, j : j + TILE].transpose(0, 2, 1)
            if causal:
                s[:, np.arange(j, j + s.shape[2]) > rows[:, None]] = -np.inf
            m_new = np.maximum(m, s.max(axis=2, keepdims=True))
            correction = np.exp(m - m_new)
            weights = np.exp(s - m_new)
            l = l * correction + weights.sum(axis=2, keepdims=True)
            weights = weights.astype(weights_as, copy=False).astype(np.float32, copy=False)
            o = o * correction + weights @ v[:, j : j + TILE]
            m = m_new
        out[:, rows] = o / l
    return {"O": out}


def minimum_bytes(case: Case, inputs: Arrays) -> int:
    """Q, K and V read once, O written once: all of one shape and type."""
    return 4 * inputs["Q"].nbytes


def minimum_flops(case: Case, inputs: Arrays) -> int:
    """Two multiply-adds for each visible (query, key) pair and dimension."""
    bh, n, d = (int(size) for size in inputs["Q"].shape)
    pairs = causal_pairs(n, n) if case.parameters["causal"] else n * n
    return 4 * bh * pairs * d


def skip_masked_tiles() -> Requirement:
    """The requirement to skip tiles that the causal mask hides whole; the cases book and book-causal have one shape."""
    return Requirement(
        "flops_over_baseline",
        # Tiles of 64 queries make it 0.53, of 512 queries 0.76; without skipping it is 1.
        0.8,
        "With the causal mask, skip the tiles of keys that lie wholly above the diagonal: "
        "they are nearly half of the work.",
        baseline="book",
        applies=lambda case: case.name == "book-causal",
    )


def _plain(scores: Array, values: Array) -> Array:
    """What a kernel without a thought of empty rows computes: 0 / 0 where no key is visible."""
    out, log_sums = attend(scores, values)
    out[np.isneginf(log_sums)] = np.nan
    return out


def _mistaken(
    weigh: Weighing = _plain,
    *,
    scale_power: float = 1.0,
    scale_from_dimension: bool = False,
    swapped: bool = False,
    mask: bool = True,
    diagonal: int = 0,
    keys: Callable[[int], int] = lambda n: n,
    one_head: bool = False,
) -> Callable[[Case, Arrays], dict[str, Array]]:
    """Attention with one thing changed.

    weigh: how scores become an output. scale_power: scale to this power. scale_from_dimension: 1/sqrt(D) in its
    place. swapped: K and V in each other's place. mask: honour causal. diagonal: query i sees keys up to
    i + diagonal. keys: keys used of n; more than n are zero keys with zero values, unmasked only when causal does
    not hide them. one_head: every head uses K and V of head 0.
    """

    def compute(case: Case, inputs: Arrays) -> dict[str, Array]:
        scale = float(case.parameters["scale"]) ** scale_power
        keys_of, values_of = ("V", "K") if swapped else ("K", "V")
        causal = bool(case.parameters["causal"]) and mask
        bh, n, d = inputs["Q"].shape
        scale = d**-0.5 if scale_from_dimension else scale
        used = keys(n)
        out = np.empty((bh, n, d))
        step = max(1, _BLOCK_SCORES // max(1, used))
        for head in range(bh):
            k, v = np.zeros((used, d)), np.zeros((used, d))
            k[: min(used, n)] = inputs[keys_of][0 if one_head else head, :used]
            v[: min(used, n)] = inputs[values_of][0 if one_head else head, :used]
            q = inputs["Q"][head].astype(np.float64) * scale
            for first in range(0, n, step):
                rows = np.arange(first, min(first + step, n))
                scores = q[rows] @ k.T
                if causal:
                    scores[np.arange(used) > (rows + diagonal)[:, None]] = -np.inf
                out[head, rows] = weigh(scores, v) if used else np.nan
        return {"O": out}

    return compute


def weighed(weigh: Callable[[Case], Weighing]) -> Callable[[Case, Arrays], dict[str, Array]]:
    """Attention with another way from the scores of a case to an output, for mutants that one problem adds."""
    return lambda case, inputs: _mistaken(weigh(case))(case, inputs)


def _constant(value: float) -> Callable[[Case, Arrays], dict[str, Array]]:
    return lambda case, inputs: {"O": np.full(inputs["Q"].shape, value)}


def _is_causal(case: Case) -> bool:
    return bool(case.parameters["causal"]) and int(case.parameters["N"]) > 1


def _has_ragged_tail(case: Case) -> bool:
    return not case.parameters["causal"] and int(case.parameters["N"]) % TILE != 0


def _has_several_keys(case: Case) -> bool:
    return int(case.parameters["N"]) > 1


def _weighs_unevenly(case: Case) -> bool:
    return _has_several_keys(case) and case.family not in {"equal", "index", "dims"}


def has_scale_of_its_own(case: Case) -> bool:
    """Whether scale is something else than 1/sqrt(D)."""
    return abs(float(case.parameters["scale"]) * float(case.parameters["D"]) ** 0.5 - 1) > 1e-3


def _has_several_tiles(case: Case) -> bool:
    return int(case.parameters["N"]) > TILE


def _maximum_rises(case: Case) -> bool:
    falling = {"equal", "index", "dims", "needle-first"}
    return _has_several_tiles(case) and case.family not in falling and "falling" not in case.family


def _is_far_from_zero(case: Case) -> bool:
    return case.family in {"huge", "deep", "deepest", "levels"} or case.family.startswith("cliff")


def _is_deep(case: Case) -> bool:
    return case.family in {"deep", "deepest", "levels"}


MUTANTS = (
    Mutant(
        "zeros",
        "Your output is all zeros: nothing was stored, or zero was.",
        _constant(0.0),
        fix="Store what the kernel computed.",
    ),
    Mutant(
        "mean_of_v",
        "Your output is the plain mean of the visible rows of V: the scores do not influence it.",
        _mistaken(uniform),
        _weighs_unevenly,
        fix="Weigh each value by exp(s - m), with its own score s.",
    ),
    Mutant(
        "last_key_dropped",
        "Your output equals attention without the last key, number N - 1: a loop over keys ends one early.",
        _mistaken(keys=lambda n: n - 1),
        lambda case: _has_several_keys(case) or not case.parameters["causal"],
        fix="Let the loop run to the last key: compare its bound with the number of keys.",
    ),
    Mutant(
        "last_tile_dropped",
        "Your output equals attention over whole tiles of 32 keys only: the tile count is rounded down, "
        "so the keys of the last, partly filled tile are lost.",
        _mistaken(keys=lambda n: n - n % TILE),
        lambda case: int(case.parameters["N"]) % TILE != 0,
        fix="Let the loop run over every tile, the partly filled last one as well: round the count up.",
        depends_on_order=True,
    ),
    Mutant(
        "tail_counted",
        "Your output equals attention with zero keys added up to a multiple of 32: places past N got score 0 "
        "and a weight. Give them the score -inf.",
        _mistaken(keys=lambda n: n + -n % TILE),
        _has_ragged_tail,
        fix="Give places past the end the score -inf.",
    ),
    Mutant(
        "no_scale",
        "Your output equals attention without scale: multiply each score by it.",
        _mistaken(scale_power=0.0),
        _weighs_unevenly,
        fix="Multiply each score by scale.",
    ),
    Mutant(
        "scale_twice",
        "Your output equals attention with scale applied twice: once on Q and once more on the score, perhaps.",
        _mistaken(scale_power=2.0),
        _weighs_unevenly,
        fix="Multiply by scale once: either the query or the score.",
    ),
    Mutant(
        "scale_from_dimension",
        "Your output equals attention with the factor 1/sqrt(D): scale is not always that, so multiply each score by "
        "the parameter.",
        _mistaken(scale_from_dimension=True),
        lambda case: has_scale_of_its_own(case) and _weighs_unevenly(case),
        fix="Multiply each score by the parameter scale instead of 1/sqrt(D).",
    ),
    Mutant(
        "keys_values_swapped",
        "Your output equals attention with K and V in each other's place: compare the order of the arguments in the "
        "launch line with the kernel's parameters.",
        _mistaken(swapped=True),
    ),
    Mutant(
        "no_rescale_o",
        "When the maximum rises you rescale the sum l but not the output accumulated so far: multiply O by "
        "exp(m_old - m_new) too.",
        _mistaken(lambda s, v: tiled(s, v, TILE, rescale_o=False)),
        _maximum_rises,
        fix="Multiply the output so far by exp(m_old - m_new) whenever the maximum rises.",
        depends_on_order=True,
    ),
    Mutant(
        "no_rescale_l",
        "When the maximum rises you rescale the output but not the sum of exponentials: multiply l by "
        "exp(m_old - m_new) too.",
        _mistaken(lambda s, v: tiled(s, v, TILE, rescale_l=False)),
        _maximum_rises,
        fix="Multiply l by exp(m_old - m_new) whenever the maximum rises.",
        depends_on_order=True,
    ),
    Mutant(
        "no_rescale",
        "When the maximum rises you rescale neither O nor l: both were taken against the old maximum and need "
        "the factor exp(m_old - m_new).",
        _mistaken(lambda s, v: tiled(s, v, TILE, rescale_l=False, rescale_o=False)),
        _maximum_rises,
        fix="Multiply both, the output so far and l, by exp(m_old - m_new) whenever the maximum rises.",
        depends_on_order=True,
    ),
    Mutant(
        "tiles_added",
        "Each tile of keys is normalized alone and the results are added: divide by l once, after the last tile.",
        _mistaken(lambda s, v: tiles_added(s, v, TILE)),
        _has_several_tiles,
        depends_on_order=True,
    ),
    Mutant(
        "not_normalized",
        "Your output is not divided by l, the sum of exponentials.",
        _mistaken(not_normalized),
        _has_several_keys,
        fix="Divide the output by l at the end.",
    ),
    Mutant(
        "max_not_subtracted",
        "Your exponentials overflow or vanish: subtract the row maximum before exp, so that the largest weight is 1.",
        _mistaken(no_maximum),
        _is_far_from_zero,
        fix="Subtract the maximum before exp, so that the largest weight is 1.",
    ),
    Mutant(
        "max_starts_at_zero",
        "Your row maximum is never below 0, so very negative scores all get the weight 0: start it at -inf.",
        _mistaken(maximum_from(0.0)),
        _is_deep,
        fix="Start the maximum at -INFINITY.",
    ),
    Mutant(
        "max_starts_too_high",
        "Your row maximum starts at a finite stand-in for -inf (about -10000) and real scores fall below it: "
        "use -INFINITY.",
        _mistaken(maximum_from(-10000.0)),
        _is_deep,
        fix="Start the maximum at -INFINITY.",
    ),
    Mutant(
        "base_two",
        "Your weights are powers of 2, not of e: exp2f needs the score times log2(e).",
        _mistaken(base_two),
        _weighs_unevenly,
        fix="Use expf, or give exp2f the score times log2(e).",
    ),
    Mutant(
        "causal_ignored",
        "Your output equals attention without the causal mask: query i sees keys after i.",
        _mistaken(mask=False),
        _is_causal,
        fix="Give keys after the query the score -inf where causal is true.",
    ),
    Mutant(
        "causal_one_too_many",
        "Your causal mask is off by one: query i also sees key i + 1.",
        _mistaken(diagonal=1),
        _is_causal,
        fix="Hide key j from query i where j > i.",
    ),
    Mutant(
        "causal_without_itself",
        "Your causal mask is off by one: query i does not see key i.",
        _mistaken(diagonal=-1),
        lambda case: bool(case.parameters["causal"]),
        fix="Hide key j from query i only where j > i: a query sees its own key.",
    ),
    Mutant(
        "first_head_only",
        "Every head uses K and V of head 0: add the head's offset to K and V as well as to Q.",
        _mistaken(one_head=True),
        lambda case: int(case.parameters["BH"]) > 1 and case.family not in {"index"},
    ),
)
