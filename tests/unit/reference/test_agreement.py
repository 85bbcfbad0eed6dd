"""The references against each other, and the laws they must obey."""

import itertools
import time

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.attention import attend, attention
from reference.merge import merge, partial
from reference.mistakes import tiled
from reference.paged import gather, paged_decode
from reference.softmax import lse, online_trace, softmax

SEEDS = st.integers(0, 2**32 - 1)
few = settings(max_examples=40, deadline=None)


def paged_example(rng, contexts, kv_heads, dim, page=4):
    blocks = [-(-context // page) for context in contexts]
    order = rng.permutation(sum(blocks) + 2)
    table = np.full((len(contexts), max(blocks)), -1)
    cache = np.full((2, sum(blocks) + 2, page, kv_heads, dim), np.nan)
    used = 0
    for sequence, (context, count) in enumerate(zip(contexts, blocks, strict=True)):
        table[sequence, :count] = order[used : used + count]
        used += count
        token = np.arange(context)
        cache[:, table[sequence, token // page], token % page] = rng.standard_normal((2, context, kv_heads, dim))
    return cache[0], cache[1], table, np.array(contexts)


@few
@given(SEEDS, st.lists(st.integers(1, 13), min_size=1, max_size=3), st.sampled_from([(4, 2), (3, 3), (6, 1)]))
def test_paged_decode_equals_dense_attention(seed, contexts, heads):
    rng = np.random.default_rng(seed)
    k, v, table, lengths = paged_example(rng, contexts, heads[1], 5)
    q = rng.standard_normal((len(contexts), heads[0], 5))
    out, log_sum = paged_decode(q, k, v, table, lengths, 0.7)
    group = heads[0] // heads[1]
    for sequence, context in enumerate(contexts):
        dense_k, dense_v = (gather(c, table[sequence], context).transpose(1, 0, 2).repeat(group, 0) for c in (k, v))
        want, want_lse = attention(q[sequence][:, None], dense_k, dense_v, 0.7, causal=True)
        np.testing.assert_allclose(out[sequence], want[:, 0], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(log_sum[sequence], want_lse[:, 0], rtol=1e-12)


@few
@given(SEEDS, st.integers(1, 40), st.lists(st.integers(0, 40), max_size=5))
def test_merge_of_splits_equals_the_whole(seed, keys, cuts):
    rng = np.random.default_rng(seed)
    scores, values = rng.standard_normal((3, keys)) * 20, rng.standard_normal((keys, 4))
    edges = [0, *sorted(min(cut, keys) for cut in cuts), keys]
    parts = [partial(scores[:, a:b], values[a:b]) for a, b in itertools.pairwise(edges)]
    merged = merge(*(np.stack(field, axis=1) for field in zip(*parts, strict=True)))
    want, want_lse = attend(scores, values)
    np.testing.assert_allclose(merged.o, want, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(merged.m + np.log(merged.l), want_lse, rtol=1e-12)


@few
@given(SEEDS, st.integers(0, 5))
def test_merge_is_associative_and_commutative(seed, empty):
    rng = np.random.default_rng(seed)
    o, m, sums = rng.standard_normal((5, 3)), rng.standard_normal(5) * 30, rng.random(5) + 0.1
    if empty < 5:
        o[empty], m[empty], sums[empty] = np.nan, -np.inf, 0
    at_once = merge(o, m, sums)
    order = rng.permutation(5)
    shuffled = merge(o[order], m[order], sums[order])
    left = merge(o[:2], m[:2], sums[:2])
    rest = merge(o[2:], m[2:], sums[2:])
    nested = merge(np.stack([left.o, rest.o]), np.array([left.m, rest.m]), np.array([left.l, rest.l]))
    for other in (shuffled, nested):
        for got, want in zip(other, at_once, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13)


@few
@given(SEEDS, st.floats(-1e4, 1e4))
def test_softmax_does_not_see_a_shift(seed, shift):
    scores = np.random.default_rng(seed).standard_normal((3, 11)) * 5
    np.testing.assert_allclose(softmax(scores + shift), softmax(scores), rtol=1e-9)
    np.testing.assert_allclose(lse(scores + shift), lse(scores) + shift, rtol=1e-12, atol=1e-9)


@few
@given(SEEDS, st.booleans())
def test_attention_does_not_see_the_order_of_keys(seed, one_row_alone):
    rng = np.random.default_rng(seed)
    q, k, v = rng.standard_normal((2, 3, 8)), rng.standard_normal((2, 9, 8)), rng.standard_normal((2, 9, 8))
    out, log_sum = attention(q, k, v, 0.5)
    order = rng.permutation(9)
    moved, moved_lse = attention(q, k[:, order], v[:, order], 0.5)
    np.testing.assert_allclose(moved, out, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(moved_lse, log_sum, rtol=1e-12)
    rows = slice(1, 2) if one_row_alone else slice(0, 2)
    np.testing.assert_allclose(attention(q[:, rows], k, v, 0.5)[0], out[:, rows], rtol=1e-12, atol=1e-13)


@few
@given(SEEDS, st.sampled_from([(1, 9), (3, 5), (7, 2)]))
def test_online_trace_ends_at_the_softmax(seed, shape):
    tiles, tile = shape
    rng = np.random.default_rng(seed)
    scores, v = rng.standard_normal((4, tiles * tile)) * 8, rng.standard_normal((4, tiles * tile))
    scores[rng.random(scores.shape) < 0.2] = -np.inf
    trace = online_trace(scores, v, tile)
    np.testing.assert_allclose(trace.out, (softmax(scores) * v).sum(axis=1), rtol=1e-10, atol=1e-12)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(trace.m[:, -1] + np.log(trace.l[:, -1]), lse(scores), rtol=1e-12)
    seen = scores[:, : (tiles // 2 + 1) * tile]
    np.testing.assert_array_equal(trace.m[:, tiles // 2], seen.max(axis=1))


@few
@given(SEEDS, st.integers(1, 12))
def test_tiles_of_any_size_give_the_same(seed, tile):
    rng = np.random.default_rng(seed)
    scores, values = rng.standard_normal((3, 12)) * 10, rng.standard_normal((12, 2))
    np.testing.assert_allclose(tiled(scores, values, tile), attend(scores, values)[0], rtol=1e-10, atol=1e-12)


def test_blocks_of_rows_do_not_show():
    rng = np.random.default_rng(5)
    q, k, v = (rng.standard_normal((1, 1100, 4)) for _ in range(3))
    out, _ = attention(q, k, v, 0.5, causal=True)
    scores = np.where(np.tri(1100, dtype=bool), 0.5 * q[0] @ k[0].T, -np.inf)
    np.testing.assert_allclose(out[0], softmax(scores) @ v[0], rtol=1e-10, atol=1e-12)


def test_attention_of_the_book_takes_no_python_loop_over_rows():
    rng = np.random.default_rng(6)
    q, k, v = (rng.standard_normal((8, 1000, 64), np.float32) for _ in range(3))
    taken = []
    for _ in range(3):
        started = time.process_time()
        attention(q, k, v, 0.125, causal=True)
        taken.append(time.process_time() - started)
    assert min(taken) < 2.0  # 0.1 s on an idle machine; a loop over rows takes several
