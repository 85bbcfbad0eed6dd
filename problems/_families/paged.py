"""Decode attention over a paged KV cache with grouped query heads, float32."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from judge.problem import (
    Array,
    Arrays,
    Buffer,
    Case,
    KeyAxis,
    Parameter,
    Requirement,
    Role,
    Scalar,
    Taker,
    Tiers,
    Timed,
    Weighed,
)
from problems._families.logits import crumb_values, design, group_values
from reference.attention import attend
from reference.paged import gather, paged_decode
from reference.softmax import softmax

PAGE = 16
"""Tokens a page in every case, and the tile of the mutants that tile."""

BUFFERS = (
    Buffer("q", "f32", ("num_seqs", "num_heads", "D"), Role.INPUT, "one query a sequence and query head"),
    Buffer("k_cache", "f32", ("num_blocks", "PAGE", "num_kv_heads", "D"), Role.INPUT, "keys, page by page"),
    Buffer("v_cache", "f32", ("num_blocks", "PAGE", "num_kv_heads", "D"), Role.INPUT, "values, page by page"),
    Buffer("block_table", "i32", ("num_seqs", "max_blocks_per_seq"), Role.INPUT, "physical page of a logical one"),
    Buffer("context_lens", "i32", ("num_seqs",), Role.INPUT, "tokens each query attends to, at least 1"),
    Buffer(
        "out", "f32", ("num_seqs", "num_heads", "D"), Role.OUTPUT, "attention output", axes=("sequence", "head", "D")
    ),
)

BUFFERS_WITH_EMPTY = tuple(
    replace(buffer, doc="tokens each query attends to, 0 or more") if buffer.name == "context_lens" else buffer
    for buffer in BUFFERS
)
"""The same where a sequence may have no token yet; its out is 0."""

PARAMETERS = (
    Parameter("num_seqs", "int", doc="sequences decoded together"),
    Parameter("num_heads", "int", doc="query heads, a multiple of num_kv_heads"),
    Parameter("num_kv_heads", "int", doc="KV heads"),
    Parameter("max_blocks_per_seq", "int", doc="columns of block_table"),
    Parameter("num_blocks", "int", doc="physical pages in each cache"),
    Parameter("PAGE", "int", constant=True, doc="tokens a page, 16, known at compile time"),
    Parameter("D", "int", constant=True, doc="head dimension: 32, 64 or 128, known at compile time"),
    Parameter("scale", "float", doc="factor of every score, above 0; not always 1/sqrt(D)"),
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
        if context == 0:
            continue
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
        elif case.family == "crumbs":
            v[:] = crumb_values(context)[:, None, None]
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


def reference_rows(case: Case, inputs: Mapping[str, Taker], rows: Array) -> dict[str, Array]:
    """Rows of out alone, row = sequence * num_heads + head: [rows, D]."""
    num_heads, d = int(case.parameters["num_heads"]), int(case.parameters["D"])
    scale, shared_by = float(case.parameters["scale"]), group(case)
    sequences, heads = np.divmod(rows, num_heads)
    out = np.zeros((rows.size, d))
    for sequence, kv_head in sorted(set(zip(sequences.tolist(), (heads // shared_by).tolist(), strict=True))):
        chosen = np.flatnonzero((sequences == sequence) & (heads // shared_by == kv_head))
        context = int(inputs["context_lens"].take(sequence))
        if context == 0:
            continue
        page, slot = np.divmod(_slots(inputs["block_table"].take(sequence), context), PAGE)
        k, v = (inputs[name].take(page, slot, kv_head).astype(np.float64) for name in ("k_cache", "v_cache"))
        q = inputs["q"].take(sequence, heads[chosen]).astype(np.float64) * scale
        out[chosen] = attend(q @ k.T, v)[0]
    return {"out": out}


def attended(case: Case, inputs: Arrays, rows: Array) -> Iterator[Weighed]:
    """Weights and values of rows of out, row = sequence * num_heads + head, by sequence and KV head."""
    sequences, heads = np.divmod(rows, int(case.parameters["num_heads"]))
    kv_heads = heads // group(case)
    for sequence, kv_head in dict.fromkeys(zip(sequences.tolist(), kv_heads.tolist(), strict=True)):
        context = int(inputs["context_lens"][sequence])
        if context == 0:
            continue
        chosen = np.flatnonzero((sequences == sequence) & (kv_heads == kv_head))
        table = inputs["block_table"][sequence]
        page, slot = np.divmod(_slots(table, context), PAGE)
        k, v = (inputs[name][page, slot, kv_head].astype(np.float64) for name in ("k_cache", "v_cache"))
        q = inputs["q"][sequence, heads[chosen]].astype(np.float64) * float(case.parameters["scale"])
        yield Weighed(rows[chosen], softmax(q @ k.T), v, tuple(table[: -(-context // PAGE)].tolist()))


KEYS = KeyAxis("out", PAGE, attended, down=0, paged=True)
"""The pages behind an error of out."""


def timed(tiers: Tiers | None = None) -> Timed:
    """How the bench cases of the family are timed and verified."""
    return Timed(
        ("q", "k_cache", "v_cache"),
        lambda case: int(case.parameters["num_seqs"]) * int(case.parameters["num_heads"]),
        reference_rows,
        tiers,
    )


def naive(case: Case, inputs: Arrays) -> dict[str, Array]:
    """Scores, maximum, exponentials, then V summed page after page, all in float32; 0 where there is no token."""
    scale = np.float32(case.parameters["scale"])
    q = inputs["q"] * scale
    sequences, heads, d = q.shape
    kv_heads = inputs["k_cache"].shape[2]
    out = np.zeros((sequences, heads, d), np.float32)
    for sequence, context in enumerate(inputs["context_lens"].tolist()):
        if context == 0:
            continue
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
    """Every token a sequence uses once (shared pages once), its q, the table entries and lengths used, and out."""
    contexts, table = inputs["context_lens"], inputs["block_table"]
    used = [_slots(table[sequence], int(context)) for sequence, context in enumerate(contexts)]
    tokens = np.unique(np.concatenate(used)).size
    token_bytes = 2 * int(case.parameters["num_kv_heads"]) * int(case.parameters["D"]) * inputs["k_cache"].itemsize
    out_bytes = inputs["q"].nbytes
    q_bytes = out_bytes // contexts.size * int((contexts > 0).sum())
    return tokens * token_bytes + q_bytes + out_bytes + 4 * blocks(contexts.tolist()) + contexts.nbytes


def minimum_flops(case: Case, inputs: Arrays) -> int:
    """Two multiply-adds for each (query head, token) pair and dimension."""
    tokens = int(inputs["context_lens"].sum())
    return 4 * tokens * int(case.parameters["num_heads"]) * int(case.parameters["D"])


def read_once() -> Requirement:
    """The requirement to read each row of K and V once for all the query heads that share it."""
    return Requirement(
        "read_amplification",
        1.1,
        "Read each K and V row once for all the query heads that share it: one block a sequence and KV head, "
        "not one a query head.",
        buffers=("k_cache", "v_cache"),
        # A shared page is rightly read once for each sequence that has it.
        applies=lambda case: group(case) > 1 and not case.extra.get("shared_pages"),
    )


def group(case: Case) -> int:
    """Query heads that share a KV head."""
    return int(case.parameters["num_heads"]) // int(case.parameters["num_kv_heads"])


def contexts_of(case: Case) -> tuple[int, ...]:
    """Context lengths of a case."""
    return tuple(case.extra["contexts"])
