"""Decode attention over a paged KV cache with grouped query heads, float32."""

from collections.abc import Callable, Sequence

import numpy as np

from judge.problem import Array, Arrays, Buffer, Case, Mutant, Parameter, Role, Scalar
from problems._families.logits import design, group_values
from reference.attention import attend
from reference.mistakes import Weighing, base_two, maximum_from, no_maximum, not_normalized, tiled, tiles_added, uniform
from reference.paged import gather, paged_decode

PAGE = 16
"""Tokens a page in every case, and the tile of the mutants that tile."""

BUFFERS = (
    Buffer("q", "f32", ("num_seqs", "num_heads", "D"), Role.INPUT, "one query a sequence and query head"),
    Buffer("k_cache", "f32", ("num_blocks", "PAGE", "num_kv_heads", "D"), Role.INPUT, "keys, page by page"),
    Buffer("v_cache", "f32", ("num_blocks", "PAGE", "num_kv_heads", "D"), Role.INPUT, "values, page by page"),
    Buffer("block_table", "i32", ("num_seqs", "max_blocks_per_seq"), Role.INPUT, "physical page of a logical one"),
    Buffer("context_lens", "i32", ("num_seqs",), Role.INPUT, "tokens each query attends to, at least 1"),
    Buffer("out", "f32", ("num_seqs", "num_heads", "D"), Role.OUTPUT, "attention output"),
)

PARAMETERS = (
    Parameter("num_seqs", "int", doc="sequences decoded together"),
    Parameter("num_heads", "int", doc="query heads, a multiple of num_kv_heads"),
    Parameter("num_kv_heads", "int", doc="KV heads"),
    Parameter("max_blocks_per_seq", "int", doc="columns of block_table"),
    Parameter("num_blocks", "int", doc="physical pages in each cache"),
    Parameter("PAGE", "int", constant=True, doc="tokens a page, 16, known at compile time"),
    Parameter("D", "int", constant=True, doc="head dimension: 32, 64 or 128, known at compile time"),
    Parameter("scale", "float", doc="factor of every score; not always 1/sqrt(D)"),
)


def blocks(contexts: Sequence[int]) -> int:
    """Pages that sequences of these lengths fill without sharing."""
    return sum(-(-context // PAGE) for context in contexts)


def parameters(
    contexts: Sequence[int],
    heads: tuple[int, int],
    d: int,
    *,
    spare_pages: int = 3,
    spare_columns: int = 1,
    scale: float | None = None,
) -> dict[str, Scalar]:
    """Parameters of a case: heads = (query heads, KV heads); spare pages are NaN, spare columns -1."""
    return {
        "num_seqs": len(contexts),
        "num_heads": heads[0],
        "num_kv_heads": heads[1],
        "max_blocks_per_seq": -(-max(contexts) // PAGE) + spare_columns,
        "num_blocks": blocks(contexts) + spare_pages,
        "PAGE": PAGE,
        "D": d,
        "scale": float(np.float32(scale or d**-0.5)),
    }


def _tables(case: Case, rng: np.random.Generator) -> Array:
    """Shuffled pages, -1 past the last used one.

    extra shared_pages: so many first pages of sequence 0 belong to every sequence.
    extra page_zero_unused: whoever takes -1 for page 0 meets NaN.
    """
    contexts = case.extra["contexts"]
    shared = int(case.extra.get("shared_pages", 0))
    table = np.full((len(contexts), int(case.parameters["max_blocks_per_seq"])), -1, np.int32)
    first = 1 if case.extra.get("page_zero_unused") else 0
    free = iter(first + rng.permutation(int(case.parameters["num_blocks"]) - first))
    for sequence, context in enumerate(contexts):
        for block in range(-(-context // PAGE)):
            table[sequence, block] = table[0, block] if sequence and block < shared else next(free)
    return table


def _slots(table: Array, context: int) -> Array:
    """Flat slot of every token of a sequence: page * PAGE + offset."""
    token = np.arange(context)
    return table[token // PAGE].astype(np.int64) * PAGE + token % PAGE


def generate(case: Case, rng: np.random.Generator) -> dict[str, Array]:
    """Inputs of a case; extra["contexts"] holds the context lengths.

    Families: the designs of logits.py; random; uniform (for large cases); index (Q = 0, V[t] = t); dims
    (V[t][c] = c); heads (V = KV head + 1). In random and uniform, V has another mean for each KV head.
    Every slot no token lives in is NaN, in both caches.
    """
    p = {name: int(case.parameters[name]) for name in ("num_seqs", "num_heads", "num_kv_heads", "num_blocks", "D")}
    contexts = np.array(case.extra["contexts"], np.int32)
    table = _tables(case, rng)
    kv_heads, d = p["num_kv_heads"], p["D"]
    q = _queries(case, rng, (p["num_seqs"], p["num_heads"], d))
    shape = (p["num_blocks"], PAGE, kv_heads, d)
    k_cache, v_cache = np.full(shape, np.nan, np.float32), np.full(shape, np.nan, np.float32)
    k_flat, v_flat = k_cache.reshape(-1, kv_heads, d), v_cache.reshape(-1, kv_heads, d)
    for sequence, context in enumerate(contexts.tolist()):
        slots = _slots(table[sequence], context)
        k_flat[slots], v_flat[slots] = _tokens(case, rng, (context, kv_heads, d), sequence)
    return {
        "q": q,
        "k_cache": k_cache,
        "v_cache": v_cache,
        "block_table": table,
        "context_lens": contexts,
    }


def _queries(case: Case, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    if case.family == "index":
        return np.zeros(shape, np.float32)
    if case.family in {"random", "uniform", "dims", "heads"}:
        return rng.standard_normal(shape, np.float32) * np.float32(1.5)
    q = np.zeros(shape, np.float32)
    q[..., 0] = 1 / case.parameters["scale"]
    return q


def _tokens(case: Case, rng: np.random.Generator, shape: tuple[int, int, int], sequence: int) -> tuple[Array, Array]:
    context, kv_heads, d = shape
    if case.family == "uniform":
        k, v = (rng.random(shape, np.float32) * np.float32(3.4) - np.float32(1.7) for _ in range(2))
    else:
        k, v = (rng.standard_normal(shape, np.float32) for _ in range(2))
    head = np.arange(kv_heads, dtype=np.float32)[:, None]
    if case.family in {"random", "uniform"}:
        v += head / 2
    elif case.family == "index":
        v[:] = np.arange(context, dtype=np.float32)[:, None, None]
    elif case.family == "dims":
        v[:] = np.arange(d, dtype=np.float32)
    elif case.family == "heads":
        v[:] = head + 1
    else:
        k[:, :, 0] = design(case.family, context, rng, sequence)[:, None]
        if case.family.startswith(("stairs", "cliff")):
            v[:] = group_values(context)[:, None, None]
    return k, v


def reference(case: Case, inputs: Arrays) -> dict[str, Array]:
    """The right answer in float64."""
    return {
        "out": paged_decode(
            inputs["q"],
            inputs["k_cache"],
            inputs["v_cache"],
            inputs["block_table"],
            inputs["context_lens"],
            float(case.parameters["scale"]),
        )[0]
    }


def naive(case: Case, inputs: Arrays) -> dict[str, Array]:
    """Scores, maximum, exponentials, then V summed page after page, all in float32."""
    scale = np.float32(case.parameters["scale"])
    q = inputs["q"] * scale
    sequences, heads, d = q.shape
    kv_heads = inputs["k_cache"].shape[2]
    out = np.empty((sequences, heads, d), np.float32)
    for sequence, context in enumerate(inputs["context_lens"].tolist()):
        k = gather(inputs["k_cache"], inputs["block_table"][sequence], context).transpose(1, 2, 0)
        v = gather(inputs["v_cache"], inputs["block_table"][sequence], context).transpose(1, 0, 2)
        scores = q[sequence].reshape(kv_heads, -1, d) @ k
        weights = np.exp(scores - scores.max(axis=2, keepdims=True))
        o = np.zeros((*weights.shape[:2], d), np.float32)
        l = np.zeros((*weights.shape[:2], 1), np.float32)
        for first in range(0, context, PAGE):
            some = weights[:, :, first : first + PAGE]
            o += some @ v[:, first : first + PAGE]
            l += some.sum(axis=2, keepdims=True)
        out[sequence] = (o / l).reshape(heads, d)
    return {"out": out}


def minimum_bytes(case: Case, inputs: Arrays) -> int:
    """Every token a sequence uses once (shared pages once), q, the table entries and lengths used, and out."""
    contexts, table = inputs["context_lens"], inputs["block_table"]
    used = [_slots(table[sequence], int(context)) for sequence, context in enumerate(contexts)]
    tokens = np.unique(np.concatenate(used)).size
    token_bytes = 2 * int(case.parameters["num_kv_heads"]) * int(case.parameters["D"]) * 4
    return tokens * token_bytes + 2 * inputs["q"].nbytes + 4 * blocks(contexts.tolist()) + contexts.nbytes


def minimum_flops(case: Case, inputs: Arrays) -> int:
    """Two multiply-adds for each (query head, token) pair and dimension."""
    tokens = int(inputs["context_lens"].sum())
    return 4 * tokens * int(case.parameters["num_heads"]) * int(case.parameters["D"])


def group(case: Case) -> int:
    """Query heads that share a KV head."""
    return int(case.parameters["num_heads"]) // int(case.parameters["num_kv_heads"])


def contexts_of(case: Case) -> tuple[int, ...]:
    """Context lengths of a case."""
    return tuple(case.extra["contexts"])


def _plain(scores: Array, values: Array) -> Array:
    return attend(scores, values)[0]


def _mistaken(
    weigh: Weighing = _plain,
    *,
    scale_power: float = 1.0,
    keys: Callable[[int], int] = lambda context: context,
    kv_head: Callable[[int, Case], int] | None = None,
    page: Callable[[int, int], int] | None = None,
    heads_first: bool = False,
    values_from: str = "v_cache",
) -> Callable[[Case, Arrays], dict[str, Array]]:
    """Paged decode with one thing changed.

    weigh: how scores become an output. keys: tokens read at a context length. kv_head: KV head of a query
    head. page: physical page for (logical block, table entry). heads_first: the cache is taken for
    [num_blocks, num_kv_heads, PAGE, D].
    """

    def compute(case: Case, inputs: Arrays) -> dict[str, Array]:
        scale = float(case.parameters["scale"]) ** scale_power
        sequences, heads, d = inputs["q"].shape
        caches = [inputs["k_cache"], inputs[values_from]]
        if heads_first:
            blocks_, size, kv_heads, _ = caches[0].shape
            caches = [cache.reshape(blocks_, kv_heads, size, d).transpose(0, 2, 1, 3) for cache in caches]
        owner = np.array([kv_head(h, case) if kv_head else h // group(case) for h in range(heads)])
        out = np.full((sequences, heads, d), np.nan)
        with np.errstate(all="ignore"):
            for sequence, context in enumerate(inputs["context_lens"].tolist()):
                used = keys(context)
                if used == 0:
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


def _constant(value: float) -> Callable[[Case, Arrays], dict[str, Array]]:
    return lambda case, inputs: {"out": np.full(inputs["q"].shape, value)}


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
    Mutant("zeros", "Your output is all zeros: nothing was stored, or zero was.", _constant(0.0)),
    Mutant(
        "mean_of_v",
        "Your output is the plain mean of V over the context: the scores do not influence it.",
        _mistaken(uniform),
        _weighs_unevenly,
    ),
    Mutant(
        "last_key_dropped",
        "Your output equals attention without the last token of the context: a loop over tokens ends one early.",
        _mistaken(keys=lambda context: context - 1),
    ),
    Mutant(
        "last_page_dropped",
        "Your output equals attention over full pages only: the page count is rounded down, so the tokens of the "
        "last, partly filled page are lost.",
        _mistaken(keys=lambda context: context - context % PAGE),
        _has_ragged_page,
    ),
    Mutant(
        "tail_counted",
        "You read every slot of the last page: slots past the context hold garbage (NaN here) and must not be read, "
        "or not counted. A weight of 0 does not help: 0 times NaN is NaN.",
        _mistaken(keys=lambda context: context + -context % PAGE),
        _has_ragged_page,
    ),
    Mutant(
        "no_scale",
        "Your output equals attention without scale: multiply each score by it.",
        _mistaken(scale_power=0.0),
        _weighs_unevenly,
    ),
    Mutant(
        "scale_twice",
        "Your output equals attention with scale applied twice: once on q and once more on the score, perhaps.",
        _mistaken(scale_power=2.0),
        _weighs_unevenly,
    ),
    Mutant(
        "no_rescale_o",
        "When the maximum rises you rescale the sum l but not the output accumulated so far: multiply it by "
        "exp(m_old - m_new) too.",
        _mistaken(lambda s, v: tiled(s, v, PAGE, rescale_o=False)),
        _maximum_rises,
    ),
    Mutant(
        "no_rescale_l",
        "When the maximum rises you rescale the output but not the sum of exponentials: multiply l by "
        "exp(m_old - m_new) too.",
        _mistaken(lambda s, v: tiled(s, v, PAGE, rescale_l=False)),
        _maximum_rises,
    ),
    Mutant(
        "no_rescale",
        "When the maximum rises you rescale neither the output nor l: both were taken against the old maximum and "
        "need the factor exp(m_old - m_new).",
        _mistaken(lambda s, v: tiled(s, v, PAGE, rescale_l=False, rescale_o=False)),
        _maximum_rises,
    ),
    Mutant(
        "pages_added",
        "Each page is normalized alone and the results are added: divide by l once, after the last token.",
        _mistaken(lambda s, v: tiles_added(s, v, PAGE)),
        _has_several_tiles,
    ),
    Mutant(
        "not_normalized",
        "Your output is not divided by l, the sum of exponentials.",
        _mistaken(not_normalized),
        _has_several_keys,
    ),
    Mutant(
        "max_not_subtracted",
        "Your exponentials overflow or vanish: subtract the maximum before exp, so that the largest weight is 1.",
        _mistaken(no_maximum),
        _is_far_from_zero,
    ),
    Mutant(
        "max_starts_at_zero",
        "Your maximum is never below 0, so very negative scores all get the weight 0: start it at -inf.",
        _mistaken(maximum_from(0.0)),
        _is_deep,
    ),
    Mutant(
        "max_starts_too_high",
        "Your maximum starts at a finite stand-in for -inf (about -10000) and real scores fall below it: "
        "use -INFINITY.",
        _mistaken(maximum_from(-10000.0)),
        _is_deep,
    ),
    Mutant(
        "base_two",
        "Your weights are powers of 2, not of e: exp2f needs the score times log2(e).",
        _mistaken(base_two),
        _weighs_unevenly,
    ),
    Mutant(
        "kv_head_modulo",
        "Query head h reads KV head h % num_kv_heads. It belongs to KV head h / (num_heads / num_kv_heads): "
        "neighboring query heads share one.",
        _mistaken(kv_head=lambda head, case: head % int(case.parameters["num_kv_heads"])),
        _has_groups_of_several_heads,
    ),
    Mutant(
        "kv_head_zero",
        "Every query head reads KV head 0: it belongs to KV head h / (num_heads / num_kv_heads).",
        _mistaken(kv_head=lambda head, case: 0),
        _has_several_kv_heads,
    ),
    Mutant(
        "table_ignored",
        "The block table is ignored: logical page b is read from physical page b. Look the page up in block_table.",
        _mistaken(page=lambda block, entry: block),
    ),
    Mutant(
        "heads_before_slots",
        "You index the cache as [num_blocks, num_kv_heads, PAGE, D]; its layout is "
        "[num_blocks, PAGE, num_kv_heads, D].",
        _mistaken(heads_first=True),
        lambda case: int(case.parameters["num_kv_heads"]) > 1,
    ),
    Mutant(
        "values_from_keys",
        "Your output is a weighted sum of rows of k_cache: the second pass reads the wrong cache.",
        _mistaken(values_from="k_cache"),
    ),
)
