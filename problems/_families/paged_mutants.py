"""Typical mistakes of paged decode, each with the sentence that explains it."""

import functools
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from judge.problem import Array, Arrays, Case, Mutant
from problems._families.dense import has_scale_of_its_own
from problems._families.paged import PAGE, contexts_of, group
from reference.attention import attend
from reference.mistakes import Weighing, base_two, maximum_from, no_maximum, not_normalized, tiled, tiles_added, uniform
from reference.paged import gather


def _plain(scores: Array, values: Array) -> Array:
    return attend(scores, values)[0]


def mistaken(
    weigh: Weighing = _plain,
    *,
    scale_power: float = 1.0,
    scale_from_dimension: bool = False,
    keys: Callable[[int], int] = lambda context: context,
    kv_head: Callable[[int, Case], int] | None = None,
    page: Callable[[int, int], int] | None = None,
    heads_first: bool = False,
    keys_from: str = "k_cache",
    values_from: str = "v_cache",
) -> Callable[..., dict[str, Array]]:
    """Paged decode with one thing changed, as a function of the case, its inputs and, by name, empty.

    weigh: how scores become an output. scale_from_dimension: 1/sqrt(D) in place of scale. keys: tokens read at a
    context length. kv_head: KV head of a query head. page: physical page for (logical block, table entry).
    heads_first: the cache is taken for [num_blocks, num_kv_heads, PAGE, D]. keys_from, values_from: the caches.
    empty: the output where no token is read; 0 / 0 by default.
    """

    def compute(case: Case, inputs: Arrays, *, empty: float = np.nan) -> dict[str, Array]:
        scale = float(case.parameters["scale"]) ** scale_power
        sequences, heads, d = inputs["q"].shape
        scale = d**-0.5 if scale_from_dimension else scale
        caches = [inputs[keys_from], inputs[values_from]]
        if heads_first:
            blocks_, size, kv_heads, _ = caches[0].shape
            caches = [cache.reshape(blocks_, kv_heads, size, d).transpose(0, 2, 1, 3) for cache in caches]
        owner = np.array([kv_head(h, case) if kv_head else h // group(case) for h in range(heads)])
        out = np.full((sequences, heads, d), empty)
        with np.errstate(all="ignore"):
            for sequence, context in enumerate(inputs["context_lens"].tolist()):
                used = keys(context)
                if used <= 0:
                    continue
                table = inputs["block_table"][sequence]
                if page:
                    table = np.array([page(block, int(entry)) for block, entry in enumerate(table)])
                k, v = (gather(cache, table, used).astype(np.float64).transpose(1, 0, 2) for cache in caches)
                q = inputs["q"][sequence].astype(np.float64) * scale
                for used_head in np.unique(owner):
                    mine = np.flatnonzero(owner == used_head)
                    out[sequence, mine] = weigh(q[mine] @ k[used_head].T, v[used_head])
        return {"out": out}

    return compute


def _constant(value: float) -> Callable[..., dict[str, Array]]:
    return lambda case, inputs, *, empty=0.0: {"out": np.full(inputs["q"].shape, value)}


def _has_several_keys(case: Case) -> bool:
    return max(contexts_of(case)) > 1


def _weighs_unevenly(case: Case) -> bool:
    return _has_several_keys(case) and case.family not in {"equal", "index", "dims", "heads"}


def _has_several_tiles(case: Case) -> bool:
    return max(contexts_of(case)) > PAGE


def _maximum_rises(case: Case) -> bool:
    falls = "falling" in case.family or case.family == "needle-first"
    return _has_several_tiles(case) and _weighs_unevenly(case) and not falls


def _has_ragged_page(case: Case) -> bool:
    return any(context % PAGE for context in contexts_of(case))


def _is_far_from_zero(case: Case) -> bool:
    return case.family in {"huge", "deep", "deepest", "levels"} or case.family.startswith("cliff")


def _is_deep(case: Case) -> bool:
    return case.family in {"deep", "deepest", "levels"}


def _has_several_kv_heads(case: Case) -> bool:
    shows = case.family in {"random", "uniform", "heads", "equal", "huge", "deep", "deepest", "rising", "falling"}
    return int(case.parameters["num_kv_heads"]) > 1 and shows


def _has_groups_of_several_heads(case: Case) -> bool:
    return _has_several_kv_heads(case) and group(case) > 1


MUTANTS = (
    Mutant(
        "zeros",
        "Your output is all zeros: nothing was stored, or zero was.",
        _constant(0.0),
        fix="Store what the kernel computed.",
    ),
    Mutant(
        "mean_of_v",
        "Your output is the plain mean of V over the context: the scores do not influence it.",
        mistaken(uniform),
        _weighs_unevenly,
        fix="Weigh each value by exp(s - m), with its own score s.",
    ),
    Mutant(
        "last_key_dropped",
        "Your output equals attention without the last token of the context: a loop over tokens ends one early.",
        mistaken(keys=lambda context: context - 1),
        _has_several_keys,
        fix="Let the loop run to the last key: compare its bound with the number of keys.",
    ),
    Mutant(
        "last_page_dropped",
        "Your output equals attention over full pages only: the page count is rounded down, so the tokens of the "
        "last, partly filled page are lost.",
        mistaken(keys=lambda context: context - context % PAGE),
        lambda case: _has_ragged_page(case) and max(contexts_of(case)) >= PAGE,
        fix="Round the page count up, so that the last, partly filled page is read.",
    ),
    Mutant(
        "tail_counted",
        "You read every slot of the last page: slots past the context hold garbage (NaN here) and must not be read, "
        "or not counted. A weight of 0 does not help: 0 times NaN is NaN.",
        mistaken(keys=lambda context: context + -context % PAGE),
        _has_ragged_page,
        fix="Stop at the end of the context: do not read the slots past it.",
    ),
    Mutant(
        "no_scale",
        "Your output equals attention without scale: multiply each score by it.",
        mistaken(scale_power=0.0),
        _weighs_unevenly,
        fix="Multiply each score by scale.",
    ),
    Mutant(
        "scale_twice",
        "Your output equals attention with scale applied twice: once on q and once more on the score, perhaps.",
        mistaken(scale_power=2.0),
        _weighs_unevenly,
        fix="Multiply by scale once: either the query or the score.",
    ),
    Mutant(
        "scale_from_dimension",
        "Your output equals attention with the factor 1/sqrt(D): scale is not always that, so multiply each score by "
        "the parameter.",
        mistaken(scale_from_dimension=True),
        lambda case: has_scale_of_its_own(case) and _weighs_unevenly(case),
        fix="Multiply each score by the parameter scale instead of 1/sqrt(D).",
    ),
    Mutant(
        "keys_values_swapped",
        "Your output equals attention with k_cache and v_cache in each other's place: compare the order of the "
        "arguments in the launch line with the kernel's parameters.",
        mistaken(keys_from="v_cache", values_from="k_cache"),
    ),
    Mutant(
        "no_rescale_o",
        "When the maximum rises you rescale the sum l but not the output accumulated so far: multiply it by "
        "exp(m_old - m_new) too.",
        mistaken(lambda s, v: tiled(s, v, PAGE, rescale_o=False)),
        _maximum_rises,
        fix="Multiply the output so far by exp(m_old - m_new) whenever the maximum rises.",
        depends_on_order=True,
    ),
    Mutant(
        "no_rescale_l",
        "When the maximum rises you rescale the output but not the sum of exponentials: multiply l by "
        "exp(m_old - m_new) too.",
        mistaken(lambda s, v: tiled(s, v, PAGE, rescale_l=False)),
        _maximum_rises,
        fix="Multiply l by exp(m_old - m_new) whenever the maximum rises.",
        depends_on_order=True,
    ),
    Mutant(
        "no_rescale",
        "When the maximum rises you rescale neither the output nor l: both were taken against the old maximum and "
        "need the factor exp(m_old - m_new).",
        mistaken(lambda s, v: tiled(s, v, PAGE, rescale_l=False, rescale_o=False)),
        _maximum_rises,
        fix="Multiply both, the output so far and l, by exp(m_old - m_new) whenever the maximum rises.",
        depends_on_order=True,
    ),
    Mutant(
        "pages_added",
        "Each page is normalized alone and the results are added: divide by l once, after the last token.",
        mistaken(lambda s, v: tiles_added(s, v, PAGE)),
        _has_several_tiles,
    ),
    Mutant(
        "not_normalized",
        "Your output is not divided by l, the sum of exponentials.",
        mistaken(not_normalized),
        _has_several_keys,
        fix="Divide the output by l at the end.",
    ),
    Mutant(
        "max_not_subtracted",
        "Your exponentials overflow or vanish: subtract the maximum before exp, so that the largest weight is 1.",
        mistaken(no_maximum),
        _is_far_from_zero,
        fix="Subtract the maximum before exp, so that the largest weight is 1.",
    ),
    Mutant(
        "max_starts_at_zero",
        "Your maximum is never below 0, so very negative scores all get the weight 0: start it at -inf.",
        mistaken(maximum_from(0.0)),
        _is_deep,
        fix="Start the maximum at -INFINITY.",
    ),
    Mutant(
        "max_starts_too_high",
        "Your maximum starts at a finite stand-in for -inf (about -10000) and real scores fall below it: "
        "use -INFINITY.",
        mistaken(maximum_from(-10000.0)),
        _is_deep,
        fix="Start the maximum at -INFINITY.",
    ),
    Mutant(
        "base_two",
        "Your weights are powers of 2, not of e: exp2f needs the score times log2(e).",
        mistaken(base_two),
        _weighs_unevenly,
        fix="Use expf, or give exp2f the score times log2(e).",
    ),
    Mutant(
        "kv_head_modulo",
        "Query head h reads KV head h % num_kv_heads. It belongs to KV head h / (num_heads / num_kv_heads): "
        "neighboring query heads share one.",
        mistaken(kv_head=lambda head, case: head % int(case.parameters["num_kv_heads"])),
        _has_groups_of_several_heads,
        fix="Use KV head h / (num_heads / num_kv_heads) for query head h.",
    ),
    Mutant(
        "kv_head_zero",
        "Every query head reads KV head 0: it belongs to KV head h / (num_heads / num_kv_heads).",
        mistaken(kv_head=lambda head, case: 0),
        _has_several_kv_heads,
        fix="Use KV head h / (num_heads / num_kv_heads) for query head h.",
    ),
    Mutant(
        "table_ignored",
        "The block table is ignored: logical page b is read from physical page b. Look the page up in block_table.",
        mistaken(page=lambda block, entry: block),
        fix="Look the physical page up in block_table.",
    ),
    Mutant(
        "heads_before_slots",
        "You index the cache as [num_blocks, num_kv_heads, PAGE, D]; its layout is "
        "[num_blocks, PAGE, num_kv_heads, D].",
        mistaken(heads_first=True),
        lambda case: int(case.parameters["num_kv_heads"]) > 1,
        fix="Index the cache as [num_blocks, PAGE, num_kv_heads, D].",
    ),
    Mutant(
        "values_from_keys",
        "Your output is a weighted sum of rows of k_cache: the second pass reads the wrong cache.",
        mistaken(values_from="k_cache"),
        fix="Read the values from v_cache.",
    ),
)


def zero_where_empty(mutants: Iterable[Mutant]) -> tuple[Mutant, ...]:
    """The same mistakes in a kernel that writes 0 where it read no token, which contexts of 0 ask for."""
    return tuple(replace(mutant, compute=functools.partial(mutant.compute, empty=0.0)) for mutant in mutants)
