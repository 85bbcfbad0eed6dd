"""splitk-merge: one output from the partial results of a split key range."""

from collections.abc import Callable, Mapping
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
from problems._families.logits import LEVELS
from reference.merge import merge

BUFFERS = (
    Buffer(
        "o_part", "f32", ("num_seqs", "num_heads", "S", "D"), Role.INPUT, "output of each segment, divided by its l"
    ),
    Buffer("m_part", "f32", ("num_seqs", "num_heads", "S"), Role.INPUT, "maximum of each segment, -inf if empty"),
    Buffer(
        "l_part", "f32", ("num_seqs", "num_heads", "S"), Role.INPUT, "sum of exponentials of each segment, 0 if empty"
    ),
    Buffer("out", "f32", ("num_seqs", "num_heads", "D"), Role.OUTPUT, "merged output", axes=("sequence", "head", "D")),
)

PARAMETERS = (
    Parameter("num_seqs", "int", doc="sequences"),
    Parameter("num_heads", "int", doc="query heads"),
    Parameter("S", "int", doc="segments of each (sequence, head)"),
    Parameter("D", "int", constant=True, doc="head dimension: 32, 64 or 128, known at compile time"),
)


def _case(name: str, seqs: int, heads: int, s: int, d: int = 64, **settings: Any) -> Case:
    parameters = {"num_seqs": seqs, "num_heads": heads, "S": s, "D": d}
    settings = {"group": Group.HIDDEN, "time_limit_s": 5.0} | settings
    return Case(name, parameters=parameters, **settings)


def _sample(name: str, seqs: int, heads: int, s: int, d: int, **settings: Any) -> Case:
    return _case(name, seqs, heads, s, d, group=Group.SAMPLE, **settings)


CASES = (
    _sample("two-segments", 1, 1, 2, 32, seed=1, doc="small enough to follow by hand"),
    _sample("quarter", 1, 1, 2, 32, seed=2, family="quarter", doc="O = 0 with weight 1, O = 1 with weight 3: 0.75"),
    _sample(
        "empty-segments", 2, 4, 5, 32, seed=3, family="holes", doc="some segments have no key: l = 0, m = -inf, O = NaN"
    ),
    _sample("decode", 4, 32, 8, 128, seed=4, doc="4 sequences of 32 heads, each in 8 segments"),
    _case("one-segment", 3, 2, 1),
    _case("segments-7", 2, 3, 7),
    _case("segments-31", 2, 2, 31),
    _case("segments-32", 2, 2, 32),
    _case("segments-33", 2, 2, 33, family="holes"),
    _case("segments-65", 2, 2, 65),
    _case("segments-129", 1, 2, 129, 32),
    _case("segments-1000", 1, 1, 1000, 32),
    _case("head-32", 3, 5, 6, 32),
    _case("head-128", 3, 5, 6, 128),
    _case("many-sequences", 67, 1, 3, 32, family="holes"),
    _case("many-heads", 1, 97, 3, 32),
    _case("equal-segments", 2, 3, 6, family="equal", doc="all maxima and sums equal: here the plain average is right"),
    _case("unequal-sums", 2, 3, 6, family="unequal-sums", doc="equal maxima, sums from 1 to 4096"),
    _case("rising-maxima", 2, 2, 9, family="rising"),
    _case("falling-maxima", 2, 2, 9, family="falling"),
    _case("huge-maxima", 2, 3, 6, family="huge", doc="maxima from 150: exp overflows without a maximum"),
    _case("far-maxima", 2, 3, 6, family="far", doc="maxima from -1000 to 1000"),
    _case("deep-maxima", 2, 3, 6, family="deep", doc="maxima near -20000"),
    _case("deepest-maxima", 2, 3, 6, family="deepest", doc="maxima near -245000"),
    _case("levels", 2, 4, 5, family="levels", doc="maxima of each row near another level: 0, 150, -5000, -20000"),
    _case("first-empty", 2, 2, 4, family="first-empty"),
    _case("only-last", 2, 2, 5, family="only-last", doc="only the last segment has keys"),
    _case("all-empty", 3, 2, 4, family="all-empty", doc="every other (sequence, head) has no key at all: 0"),
    _case("bench-256x64x32", 256, 64, 32, 128, group=Group.BENCH, family="holes", time_limit_s=60.0),
    _case("bench-4096x32x8", 4096, 32, 8, 64, group=Group.BENCH, family="holes", time_limit_s=60.0),
)


def generate(case: Case, rng: np.random.Generator) -> dict[str, Array]:
    """Partial results by family; the payload of an empty segment is NaN."""
    shape = tuple(int(case.parameters[name]) for name in ("num_seqs", "num_heads", "S"))
    s = shape[2]
    o = rng.standard_normal((*shape, int(case.parameters["D"])), np.float32)
    m = rng.standard_normal(shape, np.float32) * np.float32(2)
    l = 1 + 30 * rng.random(shape, np.float32)
    eighths = (rng.integers(0, 32, shape) / 8).astype(np.float32)
    empty = np.zeros(shape, bool)
    match case.family:
        case "quarter":
            o[..., 0, :], o[..., 1, :] = 0, 1
            m[:] = 2
            l[..., 0], l[..., 1] = 1, 3
        case "equal":
            m[:], l[:] = 1.5, 8
        case "unequal-sums":
            m[:] = 1.5
            l[:] = 2.0 ** np.linspace(0, 12, s)
        case "rising":
            m[:] = np.arange(s) * 3 + eighths
        case "falling":
            m[:] = -np.arange(s) * 3 + eighths
        case "huge":
            m[:] = 150 + eighths
        case "far":
            m[:] = np.linspace(-1000, 1000, s)[rng.permutation(s)]
        case "levels":
            rows = np.arange(shape[0] * shape[1]) % len(LEVELS)
            m[:] = np.array(LEVELS, np.float32)[rows].reshape(*shape[:2], 1) + eighths
        case "deep":
            m[:] = -20000 - eighths
        case "deepest":
            m[:] = -245000 - eighths
        case "holes":
            empty = rng.random(shape) < 0.3
            empty[..., s // 2] = False
            empty[0, 0, -1] = True
        case "first-empty":
            empty[..., 0] = True
        case "only-last":
            empty[..., :-1] = True
        case "all-empty":
            empty.reshape(-1, s)[::2] = True
    o[empty], m[empty], l[empty] = np.nan, -np.inf, 0
    return {"o_part": o, "m_part": m, "l_part": l}


def reference(case: Case, inputs: Arrays) -> dict[str, Array]:
    """The right answer in float64."""
    return {"out": merge(inputs["o_part"], inputs["m_part"], inputs["l_part"]).o}


def reference_rows(case: Case, inputs: Mapping[str, Taker], rows: Array) -> dict[str, Array]:
    """Rows of out alone, row = sequence * num_heads + head: [rows, D]."""
    place = np.divmod(rows, int(case.parameters["num_heads"]))
    o, m, l = (inputs[name].take(*place) for name in ("o_part", "m_part", "l_part"))
    return {"out": merge(o, m, l).o}


def naive(case: Case, inputs: Arrays) -> dict[str, Array]:
    """Segment after segment in float32, empty ones skipped."""
    o, m, l = inputs["o_part"], inputs["m_part"], inputs["l_part"]
    used = l > 0
    top = np.where(used, m, np.float32(-np.inf)).max(axis=2)
    shift = np.where(np.isneginf(top), np.float32(0), top)
    out = np.zeros((*o.shape[:2], o.shape[3]), np.float32)
    total = np.zeros(o.shape[:2], np.float32)
    for s in range(o.shape[2]):
        weight = np.where(used[..., s], np.exp(m[..., s] - shift) * l[..., s], np.float32(0))
        out += weight[..., None] * np.where(used[..., s, None], o[..., s, :], np.float32(0))
        total += weight
    return {"out": np.divide(out, total[..., None], out=np.zeros_like(out), where=total[..., None] > 0)}


def minimum_bytes(case: Case, inputs: Arrays) -> int:
    """m and l of every segment, O of the segments that have keys, and out."""
    d = int(case.parameters["D"])
    used = int((inputs["l_part"] > 0).sum())
    merged = inputs["l_part"].shape[0] * inputs["l_part"].shape[1]
    return inputs["m_part"].nbytes + inputs["l_part"].nbytes + 4 * d * (used + merged)


def minimum_flops(case: Case, inputs: Arrays) -> int:
    """One multiply-add for each used segment and dimension."""
    return 2 * int(case.parameters["D"]) * int((inputs["l_part"] > 0).sum())


Weights = Callable[[Array, Array], Array]
"""Weights of segments, [..., S], from m and l; an empty segment has m = -inf and l = 0."""


def _mistaken(
    weights: Weights,
    *,
    divisor: Callable[[Array, Array, Array], Array] | None = None,
    skip_empty: bool = True,
    empty_is_zero: bool = True,
) -> Callable[[Case, Arrays], dict[str, Array]]:
    """The merge with one thing changed.

    divisor: from (weights, m, l), each [..., S], what the sum is divided by; by default the sum of weights.
    skip_empty: leave the payload of empty segments alone. empty_is_zero: a divisor of 0 gives 0.
    """

    def compute(case: Case, inputs: Arrays) -> dict[str, Array]:
        m, l = inputs["m_part"].astype(np.float64), inputs["l_part"].astype(np.float64)
        o = inputs["o_part"].astype(np.float64)
        used = l > 0
        with np.errstate(all="ignore"):
            w = weights(m, l)
            if skip_empty:
                w, o = np.where(used, w, 0.0), np.where(used[..., None], o, 0.0)
            total = (divisor(w, m, l) if divisor else w.sum(axis=-1))[..., None]
            out = (w[..., None, :] @ o)[..., 0, :] / total
        if empty_is_zero:
            out = np.where(total == 0, 0.0, out)
        return {"out": out}

    return compute


def _relative(m: Array) -> Array:
    return np.exp(m - m.max(axis=-1, keepdims=True))


def _right(m: Array, l: Array) -> Array:
    return _relative(m) * l


def _as_float32(weights: Array) -> Array:
    """Rounded to float32's range, so that overflow and underflow happen where a kernel has them."""
    return weights.astype(np.float32).astype(np.float64)


def _from(start: float) -> Weights:
    return lambda m, l: _as_float32(np.exp(m - np.maximum(m.max(axis=-1, keepdims=True), start)) * l)


def _last_dropped(m: Array, l: Array) -> Array:
    w = np.exp(m - m[..., :-1].max(axis=-1, keepdims=True, initial=-np.inf)) * l
    w[..., -1] = 0
    return w


def _first_only(m: Array, l: Array) -> Array:
    w = np.zeros_like(l)
    w[..., 0] = 1
    return w


def _zeros(case: Case, inputs: Arrays) -> dict[str, Array]:
    return {"out": np.zeros((*inputs["l_part"].shape[:2], int(case.parameters["D"])))}


def _has_several_segments(case: Case) -> bool:
    return int(case.parameters["S"]) > 1


_HOLES = {"holes", "first-empty", "only-last", "all-empty"}


def _has_empty_segments(case: Case) -> bool:
    return case.family in _HOLES


def _maxima_differ(case: Case) -> bool:
    return _has_several_segments(case) and case.family not in {"quarter", "equal", "unequal-sums", "only-last"}


def _sums_differ(case: Case) -> bool:
    return _has_several_segments(case) and case.family not in {"equal", "only-last", "far"}


MUTANTS = (
    Mutant(
        "zeros",
        "Your output is all zeros: nothing was stored, or zero was.",
        _zeros,
        fix="Store what the kernel computed.",
    ),
    Mutant(
        "plain_average",
        "Your output is the plain average of the segments: weigh segment s by exp(m_s - m) * l_s.",
        _mistaken(lambda m, l: np.ones_like(l)),
        lambda case: _has_several_segments(case) and case.family not in {"equal", "only-last"},
        fix="Weigh segment s by exp(m_s - m) * l_s.",
    ),
    Mutant(
        "unweighted_by_l",
        "Your weights lack l: O_s is already divided by l_s, so its weight is exp(m_s - m) * l_s.",
        _mistaken(lambda m, l: _relative(m)),
        _sums_differ,
        fix="Weigh segment s by exp(m_s - m) * l_s.",
    ),
    Mutant(
        "unweighted_by_m",
        "Your weights are l alone: each l_s is taken against its own maximum, so its weight is exp(m_s - m) * l_s.",
        _mistaken(lambda m, l: l),
        _maxima_differ,
        fix="Weigh segment s by exp(m_s - m) * l_s.",
    ),
    Mutant(
        "divided_by_sum_of_l",
        "You divide by the plain sum of l_s: the divisor is the sum of the weights exp(m_s - m) * l_s.",
        _mistaken(_right, divisor=lambda w, m, l: l.sum(axis=-1)),
        _maxima_differ,
        fix="Divide by the sum of the weights exp(m_s - m) * l_s.",
    ),
    Mutant(
        "l_in_divisor_only",
        "l is in the divisor but not in the weights of O: O_s is already divided by l_s.",
        _mistaken(lambda m, l: _relative(m), divisor=lambda w, m, l: (_relative(m) * l).sum(axis=-1)),
        fix="Weigh O_s by exp(m_s - m) * l_s as well.",
    ),
    Mutant(
        "not_normalized",
        "Your output is not divided by l, the sum of the weights.",
        _mistaken(_right, divisor=lambda w, m, l: np.ones(l.shape[:-1])),
        fix="Divide the output by the sum of the weights.",
    ),
    Mutant(
        "base_two",
        "Your weights are powers of 2, not of e: m is a natural maximum, so the weight is exp(m_s - m) * l_s.",
        _mistaken(lambda m, l: np.exp2(m - m.max(axis=-1, keepdims=True)) * l),
        _maxima_differ,
        fix="Use expf: m is a natural maximum.",
    ),
    Mutant(
        "max_not_subtracted",
        "Your exponentials overflow or vanish: subtract the largest m before exp, so that the largest factor is 1.",
        _mistaken(lambda m, l: _as_float32(_as_float32(np.exp(m)) * l)),
        lambda case: case.family in {"huge", "far", "deep", "deepest", "levels"},
        fix="Subtract the largest m before exp, so that the largest factor is 1.",
    ),
    Mutant(
        "max_starts_at_zero",
        "Your maximum over the segments is never below 0, so deep segments all get the weight 0: start it at -inf.",
        _mistaken(_from(0.0)),
        lambda case: case.family in {"deep", "deepest", "levels"},
        fix="Start the maximum at -INFINITY.",
    ),
    Mutant(
        "max_starts_too_high",
        "Your maximum starts at a finite stand-in for -inf (about -10000) and real maxima fall below it: "
        "use -INFINITY.",
        _mistaken(_from(-10000.0)),
        lambda case: case.family in {"deep", "deepest", "levels"},
        fix="Start the maximum at -INFINITY.",
    ),
    Mutant(
        "last_segment_dropped",
        "Your output equals the merge without the last segment: a loop over segments ends one early.",
        _mistaken(_last_dropped, empty_is_zero=False),
        lambda case: case.family != "equal" or _has_several_segments(case),
        fix="Let the loop run over every segment.",
    ),
    Mutant(
        "first_segment_only",
        "Your output is O of segment 0: the other segments are never added.",
        _mistaken(_first_only, skip_empty=False, empty_is_zero=False),
        _has_several_segments,
        fix="Add the other segments, each with its weight.",
    ),
    Mutant(
        "empty_multiplied",
        "You multiply the payload of an empty segment by the weight 0: it may be NaN, and 0 times NaN is NaN. "
        "Skip segments with l = 0.",
        _mistaken(_right, skip_empty=False),
        _has_empty_segments,
        fix="Skip segments with l = 0 instead of multiplying them by 0.",
    ),
    Mutant(
        "all_empty_divided",
        "Where every segment is empty you divide 0 by 0: the output is 0 by definition.",
        _mistaken(_right, empty_is_zero=False),
        lambda case: case.family == "all-empty",
        fix="Write 0 where every segment is empty.",
    ),
    Mutant(
        "empty_counted",
        "You give an empty segment a say in the average: a segment with l = 0 takes no part at all.",
        _mistaken(lambda m, l: np.ones_like(l), divisor=lambda w, m, l: np.full(l.shape[:-1], l.shape[-1])),
        _has_empty_segments,
        fix="Skip segments with l = 0.",
    ),
)

PROBLEM = Problem(
    id="splitk-merge",
    title="Split-K merge",
    summary="One attention output from the partial outputs, maxima and sums of S segments of the keys.",
    buffers=BUFFERS,
    parameters=PARAMETERS,
    cases=CASES,
    generate=generate,
    reference=reference,
    naive=naive,
    minimum_bytes=minimum_bytes,
    minimum_flops=minimum_flops,
    tolerances={
        "out": Tolerance(
            2e-5,
            2e-4,
            "float32 sums over up to 1000 segments with __expf stay ten times below this; values are of order 1",
        )
    },
    mutants=MUTANTS,
    timed=Timed(
        ("o_part",),
        lambda case: int(case.parameters["num_seqs"]) * int(case.parameters["num_heads"]),
        reference_rows,
        Tiers(0.4, 0.65, 0.85, "nothing but reading: coalesced loads reach half, several in flight the rest"),
    ),
    default_launch="splitk_merge<D><<<dim3(num_heads, num_seqs), D>>>(o_part, m_part, l_part, out, num_heads, S)",
)
