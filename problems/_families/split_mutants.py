"""Typical mistakes of decode whose keys are split into segments, each with the sentence that explains it.

How many segments there are is the learner's choice. The mistakes that depend on it are computed for the layout of
the starter: SEGMENTS segments of equally many whole pages, of which the last may be short or empty.
"""

from collections.abc import Callable

import numpy as np

from judge.problem import Array, Case, Mutant
from problems._families.paged import PAGE, contexts_of
from problems._families.paged_mutants import mistaken, zero_where_empty
from reference.attention import attend
from reference.merge import partial
from reference.mistakes import Weighing, tiled

SEGMENTS = 8

Merge = Callable[[Array, Array, Array], Array]
"""o [R, S, D], m and l [R, S] of the segments, -inf and 0 where one is empty, to the output [R, D]."""


def bounds(context: int) -> list[tuple[int, int]]:
    """First token and end of every segment of a context."""
    pages = -(-context // PAGE)
    step = -(-pages // SEGMENTS) * PAGE
    return [(min(s * step, context), min((s + 1) * step, context)) for s in range(SEGMENTS)]


def merged(merge: Merge) -> Weighing:
    """Every segment summed rightly, then put together by merge."""

    def weigh(scores: Array, values: Array) -> Array:
        states = [partial(scores[:, first:end], values[first:end]) for first, end in bounds(scores.shape[1])]
        o, m, l = (np.stack([state[part] for state in states], axis=1) for part in range(3))
        with np.errstate(all="ignore"):
            return merge(o, m, l)

    return weigh


def _weighted(o: Array, weights: Array) -> Array:
    total: Array = (weights[..., None] * o).sum(axis=1) / weights.sum(axis=1)[..., None]
    return total


def _relative(m: Array) -> Array:
    weights: Array = np.exp(m - m.max(axis=1, keepdims=True))
    return weights


def _last_lost(o: Array, m: Array, l: Array) -> Array:
    used = (l > 0).sum(axis=1) - 1
    kept = np.arange(l.shape[1]) < used[:, None]
    weights = np.where(kept, np.exp(m - np.where(kept, m, -np.inf).max(axis=1, keepdims=True)) * l, 0.0)
    return np.where(used[:, None] > 0, _weighted(o, weights), 0.0)


def _l_counted_twice(o: Array, m: Array, l: Array) -> Array:
    weights = _relative(m) * l
    total: Array = (weights[..., None] * l[..., None] * o).sum(axis=1) / weights.sum(axis=1)[..., None]
    return total


def _spoiled_by_empty(o: Array, m: Array, l: Array) -> Array:
    return np.where((l == 0).any(axis=1)[:, None], np.nan, _weighted(o, _relative(m) * l))


def summed(rescale_l: bool, rescale_o: bool) -> Weighing:
    """Segments summed page after page without one of the rescalings, or both, then merged rightly."""

    def weigh(scores: Array, values: Array) -> Array:
        top = scores.max(axis=1, keepdims=True)
        sums, total = np.zeros((len(scores), values.shape[1])), np.zeros((len(scores), 1))
        for first, end in bounds(scores.shape[1]):
            if end == first:
                continue
            s, v = scores[:, first:end], values[first:end]
            m = s.max(axis=1, keepdims=True)
            # A value of 1 everywhere gives the right sum of exponentials over the one that the mistake leaves.
            ones = np.ones((end - first, 1))
            l = np.exp(s - m).sum(axis=1, keepdims=True) / tiled(s, ones, PAGE, rescale_l=rescale_l)
            weight = np.exp(m - top) * l
            sums += weight * tiled(s, v, PAGE, rescale_l=rescale_l, rescale_o=rescale_o)
            total += weight
        quotient: Array = sums / total
        return quotient

    return weigh


def _remainder_dropped(scores: Array, values: Array) -> Array:
    """Each segment has pages / SEGMENTS pages, rounded down."""
    used = scores.shape[1] // PAGE // SEGMENTS * SEGMENTS * PAGE
    return attend(scores[:, :used], values[:used])[0] if used else np.zeros((len(scores), values.shape[1]))


def _segments_used(case: Case) -> int:
    return max(sum(end > first for first, end in bounds(context)) for context in contexts_of(case))


def _has_several_segments(case: Case) -> bool:
    return _segments_used(case) > 1


def _shows_weights(case: Case) -> bool:
    return _has_several_segments(case) and case.family not in {"equal", "index", "dims", "heads"}


def _rises_in_a_segment(case: Case) -> bool:
    falls = "falling" in case.family or case.family == "needle-first"
    return max(contexts_of(case)) > PAGE * SEGMENTS and _shows_weights(case) and not falls


def _has_no_token_somewhere(case: Case) -> bool:
    return 0 in contexts_of(case)


def _has_an_empty_segment(case: Case) -> bool:
    return any(end == first for context in contexts_of(case) if context for first, end in bounds(context))


MUTANTS = zero_where_empty(
    (
        Mutant(
            "segments_averaged",
            "Your output is the plain average of the outputs of 8 segments: weigh segment s by exp(m_s - m) * l_s.",
            mistaken(merged(lambda o, m, l: o.sum(axis=1) / o.shape[1])),
            fix="Weigh segment s by exp(m_s - m) * l_s, and divide by the sum of the weights.",
            depends_on_order=True,
        ),
        Mutant(
            "segments_unweighted_by_l",
            "The weights of your merge lack l: where O_s is already divided by l_s, its weight is exp(m_s - m) * l_s.",
            mistaken(merged(lambda o, m, l: _weighted(o, _relative(m)))),
            _has_several_segments,
            fix="Weigh segment s by exp(m_s - m) * l_s.",
            depends_on_order=True,
        ),
        Mutant(
            "segments_unweighted_by_m",
            "The weights of your merge are l alone: each l_s is taken against its own maximum, so the weight of "
            "segment s is exp(m_s - m) * l_s.",
            mistaken(merged(lambda o, m, l: _weighted(o, l))),
            _shows_weights,
            fix="Weigh segment s by exp(m_s - m) * l_s.",
            depends_on_order=True,
        ),
        Mutant(
            "segments_base_two",
            "The weights of your merge are powers of 2: m is a natural maximum, so the weight is exp(m_s - m) * l_s.",
            mistaken(merged(lambda o, m, l: _weighted(o, np.exp2(m - m.max(axis=1, keepdims=True)) * l))),
            _shows_weights,
            fix="Use expf in the merge as well.",
            depends_on_order=True,
        ),
        Mutant(
            "segment_rescales_no_o",
            "When the maximum rises inside a segment you rescale its sum l but not its output so far: multiply that by "
            "exp(m_old - m_new) too.",
            mistaken(summed(rescale_l=True, rescale_o=False)),
            _rises_in_a_segment,
            fix="Multiply the output so far by exp(m_old - m_new) whenever the maximum rises.",
            depends_on_order=True,
        ),
        Mutant(
            "segment_rescales_no_l",
            "When the maximum rises inside a segment you rescale its output but not its sum of exponentials: multiply "
            "l by exp(m_old - m_new) too.",
            mistaken(summed(rescale_l=False, rescale_o=True)),
            _rises_in_a_segment,
            fix="Multiply l by exp(m_old - m_new) whenever the maximum rises.",
            depends_on_order=True,
        ),
        Mutant(
            "segment_rescales_nothing",
            "When the maximum rises inside a segment you rescale neither its output nor l: both were taken against the "
            "old maximum and need the factor exp(m_old - m_new).",
            mistaken(summed(rescale_l=False, rescale_o=False)),
            _rises_in_a_segment,
            fix="Multiply both, the output so far and l, by exp(m_old - m_new) whenever the maximum rises.",
            depends_on_order=True,
        ),
        Mutant(
            "segments_l_twice",
            "l counts twice in your merge: a sum that was not divided by l_s has the weight exp(m_s - m), one that "
            "was has exp(m_s - m) * l_s.",
            mistaken(merged(_l_counted_twice)),
            fix="Leave out one of the two: either store sums and weigh them by exp(m_s - m), or store quotients.",
            depends_on_order=True,
        ),
        Mutant(
            "last_segment_lost",
            "Your output equals attention without the last of 8 segments that has tokens: a loop over segments ends "
            "one early.",
            mistaken(merged(_last_lost)),
            _has_several_segments,
            fix="Let the loop of the merge run over every segment.",
            depends_on_order=True,
        ),
        Mutant(
            "first_segment_only",
            "Your output equals attention over the first of 8 segments: every block reads the same tokens, or the "
            "merge stops after one segment.",
            mistaken(merged(lambda o, m, l: o[:, 0])),
            _has_several_segments,
            fix="Let segment s begin at its own first token, and the merge run over every segment.",
            depends_on_order=True,
        ),
        Mutant(
            "segment_remainder_dropped",
            "Your output equals attention over 8 segments whose length was rounded down: the tokens after the last "
            "segment are lost.",
            mistaken(_remainder_dropped),
            lambda case: max(contexts_of(case)) >= PAGE * SEGMENTS,
            fix="Round the length of a segment up, and let the last one end at the context.",
            depends_on_order=True,
        ),
        Mutant(
            "empty_segment_spoils",
            "Your output is NaN where one of 8 segments has no token: its sum is 0 / 0, and a weight of 0 does not "
            "help, since 0 times NaN is NaN.",
            mistaken(merged(_spoiled_by_empty)),
            _has_an_empty_segment,
            fix="Skip segments with l = 0 in the merge.",
            depends_on_order=True,
        ),
    )
)

EMPTY_DIVIDED = Mutant(
    "empty_divided",
    "Where the context is 0 you divide 0 by 0: the output is 0 by definition.",
    mistaken(),
    _has_no_token_somewhere,
    fix="Write 0 where the context is 0.",
)
