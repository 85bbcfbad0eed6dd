"""online-softmax: the three running numbers of the online softmax, tile after tile."""

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
from problems._families.logits import design, group_values
from reference.softmax import Trace, exp_shifted, normalized, online_trace

BUFFERS = (
    Buffer("scores", "f32", ("R", "T*B"), Role.INPUT, "rows of scores; -inf marks a masked key"),
    Buffer("v", "f32", ("R", "T*B"), Role.INPUT, "one scalar value a score"),
    Buffer("m_trace", "f32", ("R", "T"), Role.OUTPUT, "running maximum after each tile"),
    Buffer("l_trace", "f32", ("R", "T"), Role.OUTPUT, "running sum of exponentials after each tile"),
    Buffer("o_trace", "f32", ("R", "T"), Role.OUTPUT, "running weighted sum after each tile, not divided by l"),
    Buffer("out", "f32", ("R",), Role.OUTPUT, "the result of each row"),
)

PARAMETERS = (
    Parameter("R", "int", doc="rows"),
    Parameter("T", "int", doc="tiles a row"),
    Parameter("B", "int", doc="scores a tile"),
)


def _case(name: str, r: int, t: int, b: int, **settings: Any) -> Case:
    settings = {"group": Group.HIDDEN, "time_limit_s": 5.0} | settings
    return Case(name, parameters={"R": r, "T": t, "B": b}, **settings)


def _sample(name: str, r: int, t: int, b: int, **settings: Any) -> Case:
    return _case(name, r, t, b, group=Group.SAMPLE, **settings)


CASES = (
    _sample("book", 1, 2, 2, family="book", seed=1, doc="scores 1, 3 | 2, 5 and values 10, 20 | 30, 40"),
    _sample("three-rows", 3, 4, 4, seed=2, doc="small enough to follow by hand"),
    _sample(
        "stairs",
        1,
        4,
        128,
        seed=3,
        family="stairs-rising",
        doc="scores 0, 1, 2, 3 and values 1, 2, 3, 4 by tile: 3.492653; 6.439143 means o is not rescaled, "
        "1.356024 l is not, 2.5 neither",
    ),
    _case("one-score", 1, 1, 1),
    _case("one-tile", 5, 1, 32),
    _case("tiles-of-one", 3, 9, 1),
    _case("tile-31", 33, 5, 31),
    _case("tile-32", 32, 4, 32),
    _case("tile-33", 31, 3, 33),
    _case("rows-127", 127, 3, 8),
    _case("rows-129", 129, 3, 8),
    _case("rows-1000", 1000, 8, 5),
    _case("scores-1000", 4, 8, 125),
    _case("tiles-100", 3, 100, 7, doc="more tiles than any buffer of a fixed size for their traces holds"),
    _case("tiles-1000", 2, 1000, 1, family="rising", doc="the maximum rises a thousand times"),
    _case("rising", 9, 10, 10, family="rising"),
    _case("falling", 9, 10, 10, family="falling"),
    _case("stairs-falling", 2, 4, 32, family="stairs-falling"),
    _case("cliff-rising", 2, 4, 32, family="cliff-rising", doc="steps of 100"),
    _case("cliff-falling", 2, 4, 32, family="cliff-falling"),
    _case("huge-scores", 7, 6, 16, family="huge", doc="from 150: exp overflows without a maximum"),
    _case("deep-scores", 7, 6, 16, family="deep", doc="near -20000, below any finite stand-in for -inf"),
    _case("deepest-scores", 7, 6, 16, family="deepest", doc="near -245000"),
    _case("levels", 8, 3, 7, family="levels", doc="each row lies near another level: 0, 150, -5000, -20000"),
    _case("equal-scores", 5, 3, 11, family="equal"),
    _case("needle-last", 6, 7, 9, family="needle-last", doc="the last score alone counts"),
    _case("masked-first-tile", 6, 4, 8, family="masked-first", doc="every score of the first tile is -inf"),
    _case("masked-later-tile", 6, 4, 8, family="masked-later"),
    _case("masked-row", 6, 4, 8, family="masked-row", doc="every other row is all -inf: the result is 0"),
    _case("long-rows", 3, 67, 64, doc="rows of 4288 scores: more than a CTA takes at once"),
    _case("bench-32768x1024", 32768, 32, 32, group=Group.BENCH, family="uniform", time_limit_s=60.0),
    _case("bench-256x65536", 256, 512, 128, group=Group.BENCH, family="uniform", time_limit_s=60.0),
)


def generate(case: Case, rng: np.random.Generator) -> dict[str, Array]:
    """Scores and values by family: the designs of logits.py, book, random, uniform, or masked tiles and rows."""
    r, t, b = (int(case.parameters[name]) for name in ("R", "T", "B"))
    keys = t * b
    if case.family == "book":
        scores = np.array([[1, 3, 2, 5]], np.float32)
        return {"scores": scores, "v": np.array([[10, 20, 30, 40]], np.float32)}
    if case.family == "uniform":
        draw = rng.random((2, r, keys), np.float32)
        return {"scores": draw[0] * np.float32(8), "v": draw[1] * np.float32(2) - np.float32(0.5)}
    v = rng.standard_normal((r, keys), np.float32) + np.float32(0.5)
    if case.family == "random" or case.family.startswith("masked"):
        scores = rng.standard_normal((r, keys), np.float32) * np.float32(2)
        tiles = scores.reshape(r, t, b)
        if case.family == "masked-first":
            tiles[:, 0] = -np.inf
        elif case.family == "masked-later":
            tiles[:, t // 2] = -np.inf
        elif case.family == "masked-row":
            tiles[::2] = -np.inf
        return {"scores": scores, "v": v}
    scores = np.stack([design(case.family, keys, rng, row) for row in range(r)])
    if case.family.startswith(("stairs", "cliff")):
        v[:] = group_values(keys)
    return {"scores": scores, "v": v}


def _outputs(trace: Trace) -> dict[str, Array]:
    return {"m_trace": trace.m, "l_trace": trace.l, "o_trace": trace.o, "out": trace.out}


def reference(case: Case, inputs: Arrays) -> dict[str, Array]:
    """The right traces in float64."""
    return _outputs(online_trace(inputs["scores"], inputs["v"], int(case.parameters["B"])))


def reference_rows(case: Case, inputs: Mapping[str, Taker], rows: Array) -> dict[str, Array]:
    """The traces and results of some rows alone."""
    return _outputs(online_trace(inputs["scores"].take(rows), inputs["v"].take(rows), int(case.parameters["B"])))


def naive(case: Case, inputs: Arrays) -> dict[str, Array]:
    """The recurrence in float32, score after score within a tile."""
    r, t, b = (int(case.parameters[name]) for name in ("R", "T", "B"))
    scores, values = inputs["scores"].reshape(r, t, b), inputs["v"].reshape(r, t, b)
    m, l, o = np.full(r, -np.inf, np.float32), np.zeros(r, np.float32), np.zeros(r, np.float32)
    traces = np.empty((3, r, t), np.float32)
    for j in range(t):
        m_new = np.maximum(m, scores[:, j].max(axis=1))
        shift = np.where(np.isneginf(m_new), np.float32(0), m_new)
        correction = np.exp(m - shift)
        l, o = l * correction, o * correction
        for i in range(b):
            weight = np.exp(scores[:, j, i] - shift)
            l = l + weight
            o = o + weight * values[:, j, i]
        m = m_new
        traces[:, :, j] = m, l, o
    out = np.divide(o, l, out=np.zeros_like(o), where=l > 0)
    return {"m_trace": traces[0], "l_trace": traces[1], "o_trace": traces[2], "out": out}


def minimum_bytes(case: Case, inputs: Arrays) -> int:
    """Scores and values read once, three traces and the result written once."""
    r, t = int(case.parameters["R"]), int(case.parameters["T"])
    return inputs["scores"].nbytes + inputs["v"].nbytes + 4 * (3 * r * t + r)


def minimum_flops(case: Case, inputs: Arrays) -> int:
    """A subtraction, an exponential, an addition and a multiply-add for each score."""
    return 5 * inputs["scores"].size


def _tiles(case: Case, inputs: Arrays) -> tuple[Array, Array]:
    shape = tuple(int(case.parameters[name]) for name in ("R", "T", "B"))
    return inputs["scores"].astype(np.float64).reshape(shape), inputs["v"].astype(np.float64).reshape(shape)


def _against(m: Array, s: Array, v: Array, exp: Callable[[Array], Array] = np.exp) -> dict[str, Array]:
    """Traces when every weight and correction is taken with `exp` against a given running maximum m [R, T]."""
    with np.errstate(all="ignore"):
        shift = np.where(np.isneginf(m), 0.0, m)
        weights = exp(s - shift[:, :, None])
        tile_l, tile_o = weights.sum(axis=2), (weights * v).sum(axis=2)
        l_trace, o_trace = tile_l.copy(), tile_o.copy()
        for j in range(1, m.shape[1]):
            correction = exp(m[:, j - 1] - shift[:, j])
            l_trace[:, j] += l_trace[:, j - 1] * correction
            o_trace[:, j] += o_trace[:, j - 1] * correction
        return {"m_trace": m, "l_trace": l_trace, "o_trace": o_trace, "out": normalized(o_trace[:, -1], l_trace[:, -1])}


def _zeros(case: Case, inputs: Arrays) -> dict[str, Array]:
    r, t = int(case.parameters["R"]), int(case.parameters["T"])
    return {name: np.zeros((r, t)) for name in ("m_trace", "l_trace", "o_trace")} | {"out": np.zeros(r)}


def _without_rescale(*, l: bool, o: bool) -> Callable[[Case, Arrays], dict[str, Array]]:
    def compute(case: Case, inputs: Arrays) -> dict[str, Array]:
        trace = online_trace(inputs["scores"], inputs["v"], int(case.parameters["B"]), rescale_l=not l, rescale_o=not o)
        return _outputs(trace)

    return compute


def _mean_of_v(case: Case, inputs: Arrays) -> dict[str, Array]:
    right = reference(case, inputs)
    visible = ~np.isneginf(inputs["scores"])
    with np.errstate(all="ignore"):
        mean = np.where(visible, inputs["v"], 0).sum(axis=1, dtype=np.float64) / visible.sum(axis=1)
    return right | {"out": mean}


def _last_score_dropped(case: Case, inputs: Arrays) -> dict[str, Array]:
    s, v = _tiles(case, inputs)
    s[:, :, -1] = -np.inf
    return _outputs(online_trace(s.reshape(s.shape[0], -1), v.reshape(v.shape[0], -1), s.shape[2]))


def _last_tile_dropped(case: Case, inputs: Arrays) -> dict[str, Array]:
    right = reference(case, inputs)
    with np.errstate(all="ignore"):
        out = (
            right["o_trace"][:, -2] / right["l_trace"][:, -2]
            if right["l_trace"].shape[1] > 1
            else np.full(right["out"].shape, np.nan)
        )
    return right | {"out": out}


def _no_maximum(case: Case, inputs: Arrays) -> dict[str, Array]:
    s, v = _tiles(case, inputs)
    with np.errstate(all="ignore"):
        weights = np.exp(s).astype(np.float32)
        l = weights.sum(axis=2).cumsum(axis=1, dtype=np.float32)
        o = (weights * v.astype(np.float32)).sum(axis=2).cumsum(axis=1, dtype=np.float32)
        m = np.maximum.accumulate(s.max(axis=2), axis=1)
        return {"m_trace": m, "l_trace": l, "o_trace": o, "out": o[:, -1] / l[:, -1]}


def _maximum_from(start: float) -> Callable[[Case, Arrays], dict[str, Array]]:
    def compute(case: Case, inputs: Arrays) -> dict[str, Array]:
        s, v = _tiles(case, inputs)
        return _against(np.maximum(np.maximum.accumulate(s.max(axis=2), axis=1), start), s, v)

    return compute


def _base_two(case: Case, inputs: Arrays) -> dict[str, Array]:
    s, v = _tiles(case, inputs)
    return _against(np.maximum.accumulate(s.max(axis=2), axis=1), s, v, np.exp2)


def _tiles_alone(case: Case, inputs: Arrays) -> dict[str, Array]:
    s, v = _tiles(case, inputs)
    m = s.max(axis=2)
    weights = exp_shifted(s, m[:, :, None])
    l, o = weights.sum(axis=2), (weights * v).sum(axis=2)
    return {"m_trace": m, "l_trace": l, "o_trace": o, "out": normalized(o[:, -1], l[:, -1])}


def _two_passes(case: Case, inputs: Arrays) -> dict[str, Array]:
    s, v = _tiles(case, inputs)
    m = s.max(axis=(1, 2))
    weights = exp_shifted(s, m[:, None, None])
    l, o = weights.sum(axis=2).cumsum(axis=1), (weights * v).sum(axis=2).cumsum(axis=1)
    return {
        "m_trace": np.repeat(m[:, None], s.shape[1], axis=1),
        "l_trace": l,
        "o_trace": o,
        "out": normalized(o[:, -1], l[:, -1]),
    }


def _correction_inverted(case: Case, inputs: Arrays) -> dict[str, Array]:
    s, v = _tiles(case, inputs)
    with np.errstate(all="ignore"):
        m = np.maximum.accumulate(s.max(axis=2), axis=1)
        weights = exp_shifted(s, m[:, :, None])
        l, o = weights.sum(axis=2), (weights * v).sum(axis=2)
        for j in range(1, m.shape[1]):
            correction = np.where(np.isneginf(m[:, j - 1]), 0.0, np.exp(m[:, j] - m[:, j - 1]))
            l[:, j] += np.where(l[:, j - 1] == 0, 0.0, l[:, j - 1] * correction)
            o[:, j] += np.where(l[:, j - 1] == 0, 0.0, o[:, j - 1] * correction)
        return {"m_trace": m, "l_trace": l, "o_trace": o, "out": normalized(o[:, -1], l[:, -1])}


def _o_normalized(case: Case, inputs: Arrays) -> dict[str, Array]:
    right = reference(case, inputs)
    return right | {"o_trace": normalized(right["o_trace"], right["l_trace"])}


def _out_not_normalized(case: Case, inputs: Arrays) -> dict[str, Array]:
    right = reference(case, inputs)
    return right | {"out": right["o_trace"][:, -1]}


def _minus_inf_subtracted(case: Case, inputs: Arrays) -> dict[str, Array]:
    s, _ = _tiles(case, inputs)
    with np.errstate(all="ignore"):
        m = np.maximum.accumulate(s.max(axis=2), axis=1)
        nothing = np.isneginf(m)
        poisoned = np.logical_or.accumulate(nothing, axis=1)
        right = reference(case, inputs)
        l = np.where(poisoned, np.nan, right["l_trace"])
        o = np.where(poisoned, np.nan, right["o_trace"])
        return {"m_trace": m, "l_trace": l, "o_trace": o, "out": o[:, -1] / l[:, -1]}


def _empty_not_zero(case: Case, inputs: Arrays) -> dict[str, Array]:
    right = reference(case, inputs)
    with np.errstate(all="ignore"):
        return right | {"out": right["o_trace"][:, -1] / right["l_trace"][:, -1]}


def _has_several_tiles(case: Case) -> bool:
    return int(case.parameters["T"]) > 1


def _has_several_scores(case: Case) -> bool:
    return int(case.parameters["T"]) * int(case.parameters["B"]) > 1


def _varies(case: Case) -> bool:
    return case.family != "equal"


def _maximum_rises(case: Case) -> bool:
    falls = "falling" in case.family or case.family == "equal"
    return _has_several_tiles(case) and not falls


MUTANTS = (
    Mutant(
        "zeros", "Every output is zero: nothing was stored, or zero was.", _zeros, fix="Store what the kernel computed."
    ),
    Mutant(
        "mean_of_v",
        "out is the plain mean of the values of the row: the scores do not influence it.",
        _mean_of_v,
        lambda case: _has_several_scores(case) and _varies(case),
        fix="Weigh each value by exp(s - m), with its own score s.",
    ),
    Mutant(
        "last_score_dropped",
        "The last score of every tile is left out: a loop over a tile ends one early.",
        _last_score_dropped,
        fix="Let the loop over a tile run to its last score.",
    ),
    Mutant(
        "last_tile_dropped",
        "The traces are right but out stops before the last tile.",
        _last_tile_dropped,
        fix="Let the loop run over every tile, the partly filled last one as well: round the count up.",
        depends_on_order=True,
    ),
    Mutant(
        "no_rescale_o",
        "When the maximum rises you rescale l but not o: multiply o by exp(m_old - m_new) too.",
        _without_rescale(l=False, o=True),
        _maximum_rises,
        fix="Multiply the output so far by exp(m_old - m_new) whenever the maximum rises.",
        depends_on_order=True,
    ),
    Mutant(
        "no_rescale_l",
        "When the maximum rises you rescale o but not l: multiply l by exp(m_old - m_new) too.",
        _without_rescale(l=True, o=False),
        _maximum_rises,
        fix="Multiply l by exp(m_old - m_new) whenever the maximum rises.",
        depends_on_order=True,
    ),
    Mutant(
        "no_rescale",
        "When the maximum rises you rescale neither o nor l: both need the factor exp(m_old - m_new).",
        _without_rescale(l=True, o=True),
        _maximum_rises,
        fix="Multiply both, the output so far and l, by exp(m_old - m_new) whenever the maximum rises.",
        depends_on_order=True,
    ),
    Mutant(
        "correction_inverted",
        "The correction is exp(m_new - m_old): it grows. It is exp(m_old - m_new), at most 1.",
        _correction_inverted,
        _maximum_rises,
        fix="Use exp(m_old - m_new), which is at most 1.",
        depends_on_order=True,
    ),
    Mutant(
        "max_not_subtracted",
        "Your weights are exp(s) without the maximum: subtract m first, so that the largest weight of a row is 1.",
        _no_maximum,
        fix="Subtract the maximum before exp, so that the largest weight is 1.",
    ),
    Mutant(
        "max_starts_at_zero",
        "Your running maximum is never below 0: start it at -inf.",
        _maximum_from(0.0),
        lambda case: case.family in {"deep", "deepest", "levels", "random", "masked-first", "masked-row"},
        fix="Start the maximum at -INFINITY.",
    ),
    Mutant(
        "max_starts_too_high",
        "Your running maximum starts at a finite stand-in for -inf (about -10000) and real scores fall below it: "
        "use -INFINITY.",
        _maximum_from(-10000.0),
        lambda case: case.family in {"deep", "deepest", "levels", "masked-first", "masked-row"},
        fix="Start the maximum at -INFINITY.",
    ),
    Mutant(
        "base_two",
        "Your weights are powers of 2, not of e: exp2f needs the score times log2(e).",
        _base_two,
        lambda case: _has_several_scores(case) and _varies(case),
        fix="Use expf, or give exp2f the score times log2(e).",
    ),
    Mutant(
        "tiles_alone",
        "Each tile is treated alone: m, l and o must carry what the tiles before left.",
        _tiles_alone,
        _has_several_tiles,
        fix="Carry m, l and o from one tile to the next.",
        depends_on_order=True,
    ),
    Mutant(
        "two_passes",
        "Your traces are taken against the maximum of the whole row. The online form knows only the tiles seen so far.",
        _two_passes,
        _maximum_rises,
        fix="Use only the tiles seen so far in each trace.",
    ),
    Mutant(
        "o_normalized",
        "o_trace is divided by l after each tile. It stays unnormalized; only out is divided.",
        _o_normalized,
        _has_several_scores,
        fix="Leave o_trace unnormalized and divide only out.",
        depends_on_order=True,
    ),
    Mutant(
        "out_not_normalized",
        "out is not divided by l after the last tile.",
        _out_not_normalized,
        _has_several_scores,
        fix="Divide out by l after the last tile.",
    ),
    Mutant(
        "minus_inf_subtracted",
        "A tile of masked scores gives NaN: with m still at -inf, -inf - (-inf) is NaN. "
        "Leave l and o alone until a score was seen.",
        _minus_inf_subtracted,
        lambda case: case.family in {"masked-first", "masked-row"},
        fix="Leave l and o alone until a score above -inf was seen.",
    ),
    Mutant(
        "empty_not_zero",
        "A row without any visible score gives NaN: with l = 0 the result is 0 by definition.",
        _empty_not_zero,
        lambda case: case.family == "masked-row",
        fix="Write 0 where l is 0 at the end.",
    ),
)

_SUM_REASON = "float32 sums of up to 65536 terms with __expf stay ten times below this"

PROBLEM = Problem(
    id="online-softmax",
    title="Online softmax, step by step",
    summary="The running maximum, sum and output of the online softmax after each tile of scores.",
    buffers=BUFFERS,
    parameters=PARAMETERS,
    cases=CASES,
    generate=generate,
    reference=reference,
    naive=naive,
    minimum_bytes=minimum_bytes,
    minimum_flops=minimum_flops,
    tolerances={
        "m_trace": Tolerance(1e-6, 1e-6, "a maximum is exact; kernels that work in base 2 round it once"),
        "l_trace": Tolerance(1e-5, 2e-4, _SUM_REASON),
        "o_trace": Tolerance(2e-4, 2e-4, _SUM_REASON + "; values of both signs cancel"),
        "out": Tolerance(5e-5, 2e-4, _SUM_REASON),
    },
    mutants=MUTANTS,
    # The values keep their signs: sums in which they cancel would need a wider tolerance.
    timed=Timed(
        ("scores",),
        lambda case: int(case.parameters["R"]),
        reference_rows,
        Tiers(0.35, 0.6, 0.85, "a row a thread reads scattered sectors; a warp a row reads whole lines"),
    ),
    default_launch="online_softmax<<<(R + 127) / 128, 128>>>(scores, v, m_trace, l_trace, o_trace, out, R, T, B)",
)
