"""Caches in pages, sampling, routing, masks, and weights of four bits."""

import numpy as np

from tests.corpus.harness import Run, blank
from tests.corpus.registry import case, f32, i32, normal, softmax, wide


@case("inference.cu")
def cache_append(rng):
    k, v = normal(rng, 5, 2, 8), normal(rng, 5, 2, 8)
    slots = np.array([3, -1, 9, 0, 6], np.int64)
    expected = np.zeros((2, 3, 2, 4, 8))
    for token, slot in enumerate(slots.tolist()):
        if slot >= 0:
            expected[:, slot // 4, :, slot % 4] = k[token], v[token]
    caches = [np.zeros((3, 2, 4, 8), f32), np.zeros((3, 2, 4, 8), f32)]
    arguments = [k, v, *caches, slots, i32(2), i32(2), i32(4)]
    return Run("cache_append", (5,), (32,), arguments, {2: expected[0], 3: expected[1]}, rtol=0, atol=0)


@case("inference.cu")
def decode_paged(rng):
    q, k, v = normal(rng, 3, 2, 32), normal(rng, 9, 2, 4, 32), normal(rng, 9, 2, 4, 32)
    table, lengths = rng.permutation(9).astype(i32).reshape(3, 3), np.array([12, 1, 7], i32)
    expected = np.empty((3, 2, 32))
    for s in range(3):
        keys, values = (wide(x)[table[s]].transpose(1, 0, 2, 3).reshape(2, 12, 32)[:, : lengths[s]] for x in (k, v))
        p = softmax(np.einsum("hc,hjc->hj", q[s], keys) / 32**0.5)
        expected[s] = np.einsum("hj,hjc->hc", p, values)
    arguments = [q, k, v, table, lengths, blank((3, 2, 32)), i32(2), i32(3), i32(4)]
    return Run("decode_paged", (3,), (32, 2), arguments, {5: expected}, rtol=1e-4, atol=1e-5)


@case("inference.cu")
def copy_pages(rng):
    cache, moves = rng.integers(0, 99, (6, 10, 4), dtype=i32), np.array([[0, 3], [5, 4]], np.int64)
    expected = cache.copy()
    expected[moves[:, 1]] = cache[moves[:, 0]]
    return Run("copy_pages", (2,), (8,), [cache, moves, i32(10)], {0: expected})


@case("inference.cu")
def attention_prefix(rng):
    q, k, v = normal(rng, 9, 16), normal(rng, 15, 16), normal(rng, 15, 16)
    i, j = np.arange(9)[:, None], np.arange(15)
    mask = (j < 8) | (j <= i + 6)
    scores = np.where(mask, wide(q) @ wide(k).T / 4, -np.inf)
    arguments = [q, k, v, blank((9, 16)), i32(9), i32(15), i32(8)]
    return Run("attention_prefix", (9,), (32,), arguments, {3: softmax(scores) @ v}, 60, rtol=1e-4, atol=1e-5)


@case("inference.cu")
def attention_packed(rng):
    q, k, v = (normal(rng, 20, 32) for _ in range(3))
    starts = np.array([0, 3, 4, 13, 20], i32)
    owner = np.searchsorted(starts, np.arange(20), "right")
    scores = 5 * np.tanh(wide(q) @ wide(k).T / 32**0.5 / 5)
    expected = softmax(np.where(owner[:, None] == owner, scores, -np.inf)) @ v
    arguments = [q, k, v, starts, blank((20, 32)), i32(4)]
    return Run("attention_packed", (20,), (32,), arguments, {4: expected}, rtol=1e-4, atol=1e-5)


@case("inference.cu")
def speculative_accept(rng):
    target, draft = softmax(normal(rng, 6, 5, 10)), softmax(normal(rng, 6, 5, 10))
    draft[3] = target[3]
    tokens, chances = rng.integers(0, 10, (6, 5), dtype=i32), rng.random((6, 5)).astype(f32) * f32(0.9)
    p, q = (np.take_along_axis(x, tokens[..., None], 2)[..., 0] for x in (target, draft))
    good = np.pad(chances * q < p, ((0, 0), (0, 1)))
    arguments = [target, draft, tokens, chances, blank(6, i32), i32(5), i32(10)]
    return Run("speculative_accept", (6,), (32,), arguments, {4: good.argmin(1)})


@case("inference.cu")
def sample_top_p(rng):
    p = softmax(normal(rng, 6, 128) * f32(3))
    order = np.argsort(-p, axis=1).astype(i32)
    ranked, draws = np.take_along_axis(p, order, 1), rng.random(6).astype(f32)
    mass = wide(ranked).cumsum(1)
    end = (mass >= 0.8).argmax(1)
    chosen = (mass >= draws[:, None] * mass[range(6), end][:, None]).argmax(1)
    arguments = [ranked, order, draws, blank(6, i32), f32(0.8)]
    return Run("sample_top_p", (6,), (128,), arguments, {3: order[range(6), chosen]})


@case("inference.cu")
def repetition_penalty(rng):
    logits, history = normal(rng, 2, 200), rng.integers(0, 200, (2, 70), dtype=i32)
    hit = np.zeros((2, 200), bool)
    np.put_along_axis(hit, history, True, 1)
    w = wide(logits)
    expected = np.where(hit, np.where(w > 0, w / 1.25, w * 1.25), w)
    arguments = [logits, history, i32(70), i32(200), f32(1.25)]
    return Run("repetition_penalty", (2,), (32,), arguments, {0: expected})


@case("inference.cu")
def route_two_experts(rng):
    scores = normal(rng, 50, 8)
    experts = np.argsort(-scores, axis=1)[:, :2]
    weights = softmax(np.take_along_axis(wide(scores), experts, 1))
    load = [np.bincount(part.ravel(), minlength=8) for part in (experts[:32], experts[32:])]
    arguments = [scores, blank((50, 2), i32), blank((50, 2)), np.zeros((2, 8), i32), i32(50)]
    return Run("route_two_experts", (2,), (32,), arguments, {1: experts, 2: weights, 3: np.stack(load)})


@case("inference.cu")
def beam_trace(rng):
    tokens, parents = rng.integers(0, 999, (6, 4), dtype=np.int16), rng.integers(0, 4, (6, 4), dtype=np.uint8)
    expected, at = np.empty((4, 6), int), np.arange(4)
    for s in range(5, -1, -1):
        expected[:, s], at = tokens[s, at], parents[s, at]
    arguments = [tokens, parents, blank((4, 6), np.int16), i32(6), i32(4)]
    return Run("beam_trace", (1,), (32,), arguments, {2: expected})


@case("inference.cu")
def embed(rng):
    ids, table, positions = np.array([4, 0, 9, -2, 8], i32), normal(rng, 9, 20), normal(rng, 5, 20)
    known = (ids >= 0) & (ids < 9)
    expected = np.where(known[:, None], wide(table)[np.where(known, ids, 0)], 0) + positions
    arguments = [ids, table, positions, blank((5, 20)), i32(9), i32(10)]
    return Run("embed", (5,), (8,), arguments, {3: expected})


@case("inference.cu")
def nf4_round_trip(rng):
    levels = [-1, -0.6961928, -0.52507305, -0.39491749, -0.28444138, -0.18477343, -0.09105004, 0]
    levels += [0.0795803, 0.1609302, 0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1]
    x = normal(rng, 3, 32)
    scales = np.abs(x).max(1)
    nearest = np.abs((wide(x) / scales[:, None])[..., None] - levels).argmin(-1)
    packed = (nearest[:, ::2] | nearest[:, 1::2] << 4).astype(np.uint8)
    codes, found = blank((3, 16), np.uint8), blank(3)
    back = np.array(levels)[nearest] * scales[:, None]
    return [
        Run("quantize_nf4", (3,), (32,), [x, codes, found], {1: packed, 2: scales}),
        Run("dequantize_nf4", (1,), (32,), [codes, found, blank((3, 32)), i32(12)], {2: back}),
    ]
