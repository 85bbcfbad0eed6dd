"""The reference against results that can be worked out by hand."""

import math

import numpy as np
import pytest

from reference.attention import attention, causal_pairs
from reference.merge import merge, merge_lse
from reference.mistakes import base_two, maximum_from, no_maximum, not_normalized, tiled, tiles_added, uniform
from reference.paged import paged_decode
from reference.softmax import lse, online_trace, softmax


def logits(scores, dim=64):
    """Q and K [1, 1, dim], [1, len, dim] whose scores at scale 1/8 are exactly these."""
    q = np.zeros((1, 1, dim))
    q[..., 0] = 8
    k = np.random.default_rng(1).standard_normal((1, len(scores), dim))
    k[0, :, 0] = scores
    return q, k


def quarters(step, keys):
    return step * np.repeat(np.arange(4.0), keys // 4), np.repeat(np.arange(1.0, 5.0), keys // 4)


def test_ones_probe():
    q, k, v = np.zeros((2, 3, 8)), np.random.default_rng(0).standard_normal((2, 96, 8)), np.ones((2, 96, 5))
    out, log_sum = attention(q, k, v, 0.3)
    assert out == pytest.approx(1.0, abs=1e-15)
    assert log_sum == pytest.approx(4.564348, abs=1e-6)


@pytest.mark.parametrize("keys", [128, 512])
@pytest.mark.parametrize(("falling", "want"), [(False, 3.492653), (True, 1.507347)])
def test_stairs_probe(keys, falling, want):
    scores, values = quarters(1.0, keys)
    q, k = logits(scores[::-1] if falling else scores)
    out, log_sum = attention(q, k, values[None, :, None], 1 / 8)
    assert out.item() == pytest.approx(want, abs=1e-6)
    assert log_sum.item() == pytest.approx(8.292220 + math.log(keys / 512), abs=1e-6)


@pytest.mark.parametrize("tile", [1, 16, 32, 64, 128])
def test_stairs_signatures_of_a_missing_rescale(tile):
    scores, values = quarters(1.0, 512)
    s, v = scores[None], values[:, None]
    assert tiled(s, v, tile).item() == pytest.approx(3.492653, abs=1e-6)
    assert tiled(s, v, tile, rescale_o=False).item() == pytest.approx(6.439143, abs=1e-6)
    assert tiled(s, v, tile, rescale_l=False).item() == pytest.approx(1.356024, abs=1e-6)
    assert tiled(s, v, tile, rescale_o=False, rescale_l=False).item() == pytest.approx(2.5, abs=1e-12)
    assert tiles_added(s, v, tile).item() == pytest.approx(2.5 * 512 / tile, abs=1e-9)
    assert uniform(s, v).item() == 2.5


def test_falling_stairs_hide_a_missing_rescale():
    scores, values = quarters(1.0, 512)
    s, v = scores[None, ::-1], values[:, None]
    assert tiled(s, v, 32, rescale_o=False).item() == pytest.approx(1.507347, abs=1e-6)


def test_stairs_signatures_with_a_tile_of_two_groups():
    scores, values = quarters(1.0, 128)
    s, v = scores[None], values[:, None]
    assert tiled(s, v, 64, rescale_o=False).item() == pytest.approx(4.811017, abs=1e-6)
    assert tiled(s, v, 64, rescale_l=False).item() == pytest.approx(1.982666, abs=1e-6)
    assert tiled(s, v, 64, rescale_o=False, rescale_l=False).item() == pytest.approx(2.731059, abs=1e-6)


def test_cliff_probe():
    scores, values = quarters(100.0, 128)
    q, k = logits(scores)
    out, log_sum = attention(q, k, values[None, :, None], 1 / 8)
    assert out.item() == pytest.approx(4.0, abs=1e-12)
    assert log_sum.item() == pytest.approx(303.465736, abs=1e-6)
    assert np.isnan(no_maximum(scores[None], values[:, None])).all()


def test_pick_probe():
    scores = np.full(50, -40.0)
    scores[17] = 40.0
    q, k = logits(scores)
    out, _ = attention(q, k, np.arange(50.0)[None, :, None], 1 / 8)
    assert out.item() == pytest.approx(17.0, abs=1e-12)


@pytest.mark.parametrize(("heads", "kv_heads"), [(28, 4), (24, 2), (40, 2), (12, 2), (7, 7)])
def test_heads_probe(heads, kv_heads):
    rng = np.random.default_rng(2)
    k = rng.standard_normal((2, 16, kv_heads, 8))
    v = np.broadcast_to((np.arange(kv_heads) + 1.0)[:, None], k.shape)
    out, _ = paged_decode(rng.standard_normal((1, heads, 8)), k, v, np.array([[1, 0]]), np.array([21]), 0.4)
    assert out[0, :, 0] == pytest.approx(np.repeat(np.arange(kv_heads) + 1.0, heads // kv_heads))


def test_dims_probe():
    rng = np.random.default_rng(3)
    q, k = rng.standard_normal((1, 4, 80)), rng.standard_normal((1, 9, 80))
    out, _ = attention(q, k, np.broadcast_to(np.arange(80.0), (1, 9, 80)), 0.1)
    assert out[0] == pytest.approx(np.broadcast_to(np.arange(80.0), (4, 80)))


@pytest.mark.parametrize(("keys", "want"), [(33, 16.0), (64, 31.5), (65, 32.0), (96, 47.5)])
def test_index_probe(keys, want):
    out, _ = attention(np.zeros((1, 2, 4)), np.ones((1, keys, 4)), np.arange(float(keys))[None, :, None], 1.0)
    assert out == pytest.approx(want)


def test_causal_is_bottom_right():
    values = np.arange(1.0, 9.0)[None, :, None]
    for keys, want in ((7, [2.5, 3, 3.5, 4]), (8, [3, 3.5, 4, 4.5])):
        out, _ = attention(np.zeros((1, 4, 2)), np.ones((1, keys, 2)), values[:, :keys], 1.0, causal=True)
        assert out[0, :, 0] == pytest.approx(want)
        top_left, _ = attention(
            np.zeros((1, 4, 2)), np.ones((1, keys, 2)), values[:, :keys], 1.0, causal=True, diagonal=0
        )
        assert top_left[0, :, 0] == pytest.approx([1, 1.5, 2, 2.5])


def test_causal_rows_without_a_key():
    out, log_sum = attention(np.ones((1, 4, 3)), np.ones((1, 2, 3)), np.full((1, 2, 3), 7.0), 1.0, causal=True)
    assert out[0, :, 0] == pytest.approx([0, 0, 7, 7])
    assert np.isneginf(log_sum[0, :2]).all()
    assert np.isfinite(log_sum[0, 2:]).all()


@pytest.mark.parametrize(("queries", "keys", "pairs"), [(4, 4, 10), (4, 7, 22), (4, 2, 3), (1, 1, 1)])
def test_causal_pairs(queries, keys, pairs):
    assert causal_pairs(queries, keys) == pairs


def test_scale_is_used_as_given():
    q, k = np.array([[[8.0, 0]]]), np.array([[[1.0, 0], [0, 0]]])
    for scale, want in ((1 / 8, 0.731059), (8.0, 1.0), (1.0, 0.999665)):
        out, _ = attention(q, k, np.array([[[1.0], [0.0]]]), scale)
        assert out.item() == pytest.approx(want, abs=1e-6)


def test_book_trace():
    trace = online_trace(np.array([[1.0, 3, 2, 5]]), np.array([[10.0, 20, 30, 40]]), 2)
    assert trace.m[0] == pytest.approx([3, 5])
    assert trace.l[0] == pytest.approx([1.1353, 1.2034], abs=1e-4)
    assert trace.o[0] == pytest.approx([21.353, 44.384], abs=1e-3)
    assert trace.out.item() == pytest.approx(36.88, abs=5e-3)


def test_masked_tiles_and_rows():
    scores = np.array([[-np.inf, -np.inf, 1.0, 1.0], [-np.inf] * 4])
    trace = online_trace(scores, np.array([[9.0, 9, 2, 4], [1, 2, 3, 4]]), 2)
    assert trace.m.tolist() == [[-np.inf, 1.0], [-np.inf, -np.inf]]
    assert trace.l.tolist() == [[0, 2], [0, 0]]
    assert trace.out.tolist() == [3.0, 0.0]


def test_online_trace_refuses_a_broken_tile():
    with pytest.raises(ValueError, match="whole number of tiles"):
        online_trace(np.zeros((1, 5)), np.zeros((1, 5)), 2)


def test_softmax_and_lse_of_masked_rows():
    scores = np.array([[-np.inf, 0.0], [-np.inf, -np.inf]])
    assert softmax(scores).tolist() == [[0, 1], [0, 0]]
    assert lse(scores).tolist() == [0, -np.inf]
    assert lse(np.zeros((3, 0))).tolist() == [-np.inf] * 3
    assert lse(np.full((1, 33), 3.0)).item() == pytest.approx(6.496508, abs=1e-6)


def test_far_scores():
    assert softmax(np.array([[7999.990234375, 8000.0]]))[0] == pytest.approx([0.497559, 0.502441], abs=1e-6)
    q, k = logits([-245000.0])
    out, log_sum = attention(q, k, np.array([[[7.0]]]), 1 / 8)
    assert (out.item(), log_sum.item()) == (7.0, -245000.0)


def test_merge_skips_an_empty_part_whatever_it_holds():
    for order in ([0, 1], [1, 0]):
        o = np.array([[np.nan], [3.5]])[order]
        log_sums = np.array([-np.inf, -2.25])[order]
        out, log_sum = merge_lse(o, log_sums)
        assert (out.item(), log_sum.item()) == (3.5, -2.25)


@pytest.mark.parametrize(
    ("log_sums", "want"), [((0.0, math.log(3)), 0.75), ((1000, 1000 + math.log(3)), 0.75), ((-1000, -1000.0), 0.5)]
)
def test_merge_of_two_parts(log_sums, want):
    out, log_sum = merge_lse(np.array([[0.0], [1.0]]), np.array(log_sums))
    assert out.item() == pytest.approx(want)
    assert log_sum.item() == pytest.approx(np.logaddexp(*log_sums))


def test_merge_of_nothing_is_zero():
    state = merge(np.full((2, 3, 4), np.nan), np.full((2, 3), -np.inf), np.zeros((2, 3)))
    assert state.o.tolist() == np.zeros((2, 4)).tolist()
    assert state.l.tolist() == [0, 0]
    assert np.isneginf(state.m).all()


def test_merge_of_unequal_parts():
    out, _ = merge_lse(np.array([[0.0], [1.0]]), np.log([3072.0, 64.0]))
    assert out.item() == pytest.approx(0.0204082, abs=1e-7)


@pytest.mark.parametrize(("context", "want"), [(1, 0.0), (13, 6.0), (5, 2.0)])
def test_paged_index_with_poison(context, want):
    table = np.array([[7, 2, 5, 0]])
    k, v = np.full((9, 4, 1, 2), np.nan), np.full((9, 4, 1, 2), np.nan)
    token = np.arange(context)
    k[table[0, token // 4], token % 4] = 1.0
    v[table[0, token // 4], token % 4] = token[:, None, None]
    table[0, -(-context // 4) :] = -1
    out, log_sum = paged_decode(np.zeros((1, 2, 2)), k, v, table, np.array([context]), 1.0)
    assert out == pytest.approx(want)
    assert log_sum == pytest.approx(math.log(context))


def test_paged_empty_context_and_bad_groups():
    cache = np.ones((2, 4, 2, 3))
    out, log_sum = paged_decode(np.ones((1, 4, 3)), cache, cache, np.array([[-1]]), np.array([0]), 1.0)
    assert out.tolist() == np.zeros((1, 4, 3)).tolist()
    assert np.isneginf(log_sum).all()
    with pytest.raises(ValueError, match="no multiple"):
        paged_decode(np.ones((1, 3, 3)), cache, cache, np.array([[0]]), np.array([1]), 1.0)


def test_mistakes_differ_from_the_truth_as_they_should():
    s, v = np.array([[0.0, 1.0]]), np.array([[0.0], [1.0]])
    assert base_two(s, v).item() == pytest.approx(2 / 3)
    assert not_normalized(s, v).item() == pytest.approx(1.0)
    assert no_maximum(s, v).item() == pytest.approx(0.731059, abs=1e-6)
    assert np.isnan(maximum_from(-10000.0)(np.full((1, 2), -20000.0), v)).all()
    assert maximum_from(0.0)(s, v).item() == pytest.approx(0.731059, abs=1e-6)
